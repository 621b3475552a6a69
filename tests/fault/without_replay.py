#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a boot loader finds on /boot after a power cut: it replays no journal.

/boot is a file system of its own (xfs as EL has it, ext4). --fix and --undo run to their end, or are
killed at each rename and each sync of the file system; the medium as it is then is mounted without
recovery. Each file must be the old or the new one, and a run that has ended must be seen to have.

usage: without_replay.py --tool PATH
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inject import cannot_run, changing_calls, strace
from rig import Failure, Rig, Trials, own_mounts, scratch_parent, skip

CALLS = ("renameat", "syncfs")
MEBIBYTES = 320  # the least that mkfs.xfs takes
NO_REPLAY = {"xfs": "ro,norecovery,nouuid", "ext4": "ro,norecovery"}


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=120)


@contextlib.contextmanager
def mounted(image: Path, where: Path, options: str) -> Iterator[None]:
    run("mount", "-o", f"loop,{options}", image, where)
    try:
        yield
    finally:
        run("umount", where)


def make_file_system(kind: str, image: Path) -> None:
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(MEBIBYTES << 20)
    run(f"mkfs.{kind}", "-q", image)


class Medium:
    """The rig's /boot on a file system of its own."""

    def __init__(self, rig: Rig, kind: str) -> None:
        self.rig, self.kind, self.image = rig, kind, rig.scratch / "boot.img"
        self.there = rig.scratch / "there"
        self.there.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """A fresh guest each time."""
        self.rig.reset()
        make_file_system(self.kind, self.image)
        with mounted(self.image, self.there, "rw"):
            run("cp", "-a", f"{self.rig.top}/boot/.", self.there)
        with mounted(self.image, self.rig.top / "boot", "rw"):
            yield

    def as_a_loader_reads(self) -> dict[str, str]:
        cut = self.rig.scratch / "cut.img"
        run("cp", "--sparse=always", self.image, cut)
        with mounted(cut, self.there, NO_REPLAY[self.kind]):
            found = {}
            for name in self.wanted("start"):
                path = self.there / Path(name).relative_to("boot")
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "not there"
        cut.unlink()
        return found

    def wanted(self, which: str) -> dict[str, str]:
        picture = {"start": self.rig.start, "finished": self.rig.finished}[which]
        return {name: entry[4] for name, entry in picture.items() if name.startswith("boot/") and entry[0].startswith("0o100")}

    def expect(self, what: str, *states: str) -> None:
        wanted = [self.wanted(state) for state in states]
        for name, found in self.as_a_loader_reads().items():
            if found not in [state[name] for state in wanted]:
                raise Failure(f"{self.kind}, {what}: without replay /{name} is none of {states}: {found}")


def cannot_mount() -> str | None:
    with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch_parent()) as scratch:
        image, there = Path(scratch) / "image", Path(scratch) / "there"
        there.mkdir()
        for kind in NO_REPLAY:
            if not shutil.which(f"mkfs.{kind}"):
                return f"mkfs.{kind} is missing"
            try:
                make_file_system(kind, image)
                with mounted(image, there, NO_REPLAY[kind]):
                    pass
            except subprocess.CalledProcessError as error:
                return f"{kind} on a loop device cannot be mounted here: {error.stderr.decode().strip()}"
    return None


def points(rig: Rig, mode: str) -> list[tuple[str, int]]:
    """Where the run is killed: as it is about to rename, or to let the file system settle."""
    rig.reset("fixed" if mode == "--undo" else "start")
    log = rig.scratch / "count.log"
    rig.call(mode, before=strace(log, list(CALLS)))
    return changing_calls(log)


def ended(medium: Medium) -> None:
    rig = medium.rig
    with medium.in_place():
        rig.expect_code(rig.call("--fix"), 0)
        medium.expect("--fix has ended", "finished")
        rig.expect_code(rig.call("--undo"), 0)
        medium.expect("--undo has ended", "start")


def killed(medium: Medium, mode: str, call: str, number: int) -> None:
    rig, what = medium.rig, f"{mode} killed at {call} {number}"
    with medium.in_place():
        if mode == "--undo":
            rig.expect_code(rig.call("--fix"), 0)
        done = rig.call(mode, before=strace(rig.scratch / "kill.log", [call], f"{call}:signal=KILL:when={number}"))
        rig.expect_code(done, -9)
        medium.expect(what, "start", "finished")
        rig.expect_code(rig.call("--undo"), 0)
        medium.expect(f"{what}, then --undo", "start")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    options = parser.parse_args()
    if why := cannot_run():
        return skip(why)
    own_mounts()
    if why := cannot_mount():
        return skip(why)
    trials = Trials("without replay: {} runs")
    with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch_parent()) as scratch:
        rig = Rig(options.tool, Path(scratch))
        where = [(mode, *point) for mode in ("--fix", "--undo") for point in points(rig, mode)]
        for kind in NO_REPLAY:
            medium = Medium(rig, kind)
            for step in (lambda: ended(medium), *(functools.partial(killed, medium, *point) for point in where)):
                with trials.one():
                    step()
    return trials.finish()


if __name__ == "__main__":
    sys.exit(main())
