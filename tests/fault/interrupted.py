#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An administrator who presses Ctrl-C, loses the connection or stops reading, while --fix builds its first image.

usage: interrupted.py --tool PATH
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from rig import Failure, Rig, Trials, expect_same, picture, scratch_parent, skip
from terminal import Terminal
from two_at_once import programs_of, wait_for, waiting_dracut

STOPPED = "stopped by a signal"


def command(rig: Rig) -> list[str]:
    return rig.command("--fix", "--jobs", "1")


def until_dracut_waits(rig: Rig) -> None:
    waits = rig.top / "run/dracut-waits"
    wait_for("dracut", waits.exists)
    waits.unlink()
    if not programs_of(rig):
        raise Failure("dracut is not to be seen at work, so its end would not be either")


def expect_put_back(rig: Rig, code: int | None, said: str | None) -> None:
    """Exit 5, in words, nothing changed, nothing left, and no dracut still at work."""
    if code != 5:
        raise Failure(f"exit {code}, wanted 5\n{said}")
    if said is not None and STOPPED not in said:
        raise Failure(f"does not say that it was stopped:\n{said}")
    expect_same(rig.start, picture(rig.top), "put back")
    if rig.leftovers():
        raise Failure(f"left over: {rig.leftovers()}")
    if programs_of(rig):
        raise Failure(f"dracut is still at work: {programs_of(rig)}")


def keys(presses: int) -> Callable[[Rig], None]:
    def run(rig: Rig) -> None:
        with Terminal(command(rig)) as terminal:
            until_dracut_waits(rig)
            terminal.type(b"\x03" * presses)
            said = terminal.rest()
            expect_put_back(rig, terminal.child.returncode, said)
    return run


def lost_connection(rig: Rig) -> None:
    with Terminal(command(rig)) as terminal:
        until_dracut_waits(rig)
        terminal.hang_up()
        expect_put_back(rig, terminal.child.wait(120), None)


def terminated(rig: Rig) -> None:
    with Terminal(command(rig)) as terminal:
        until_dracut_waits(rig)
        terminal.child.terminate()
        said = terminal.rest()
        expect_put_back(rig, terminal.child.returncode, said)


def carries_on(rig: Rig, child: subprocess.Popen) -> None:
    (rig.top / "run/go").touch()
    code = child.wait(120)
    for name in ("go", "dracut-waits"):
        (rig.top / "run" / name).unlink(missing_ok=True)
    # 70: the report could not be printed. The run itself has ended well.
    if code not in (0, 70):
        raise Failure(f"exit {code}")
    expect_same(rig.finished, picture(rig.top), "finished", times=False)


def ignored_by_nohup(rig: Rig) -> None:
    with Terminal(["sh", "-c", 'exec nohup "$@" >/dev/null 2>&1', "sh", *command(rig)]) as terminal:
        until_dracut_waits(rig)
        terminal.child.send_signal(signal.SIGHUP)
        carries_on(rig, terminal.child)


def reader_gone(rig: Rig) -> None:
    """--fix 2>&1 | head -1"""
    with subprocess.Popen([*command(rig), "--verbose"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        until_dracut_waits(rig)
        assert child.stdout
        child.stdout.close()
        carries_on(rig, child)


CASES: dict[str, Callable[[Rig], None]] = {
    "Ctrl-C": keys(1), "Ctrl-C, and again and again": keys(5), "SIGTERM": terminated,
    "the connection is lost": lost_connection, "the connection is lost, under nohup": ignored_by_nohup,
    "nobody reads any more": reader_gone,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        return skip("a guest's dracut runs in a chroot, which needs root")
    trials = Trials("interrupted at a terminal or a pipe: {}")
    with tempfile.TemporaryDirectory(dir=scratch_parent(), prefix="fault-") as scratch:
        rig = Rig(options.tool, Path(scratch) / "rig")
        for name, run in CASES.items():
            rig.reset()
            with trials.one(name), waiting_dracut(rig):
                rig.start = picture(rig.top)  # with the dracut that waits
                rig.finished = {**rig.finished, **{path: rig.start[path] for path in rig.start if path.startswith("usr/bin/dracut")}}
                run(rig)
    return trials.finish()


if __name__ == "__main__":
    sys.exit(main())
