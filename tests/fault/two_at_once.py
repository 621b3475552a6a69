#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two administrators at once, and a package manager whose dracut runs at the same moment.

The tool is held where it is wanted: in its dracut, which waits for a file, or by a SIGSTOP that
strace(1) sends as it enters a system call; it stops when it comes back from it.

usage: two_at_once.py --tool PATH [CASE..]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from inject import CHANGING, cannot_run, changing_calls, strace
from rig import K1, K2, MACHINE_ID, TIME_LIMIT, Failure, Guest, Image, Rig, Trials, picture, scratch_parent, skip

K3 = "5.14.0-570.el9.x86_64"
IMAGE1, IMAGE2 = f"boot/initramfs-{K1}.img", f"boot/initramfs-{K2}.img"
CASES: dict[str, Callable[[Rig], None]] = {}

WAITING_DRACUT = """#!/usr/bin/busybox sh
: > /run/dracut-waits
while [ ! -e /run/go ]; do busybox sleep 0.05; done
exec /usr/bin/dracut-good "$@"
"""


def case(function: Callable[[Rig], None]) -> Callable[[Rig], None]:
    CASES[function.__name__.replace("_", "-")] = function
    return function


def wait_for(what: str, is_so: Callable[[], object]) -> None:
    end = time.monotonic() + TIME_LIMIT
    while not is_so():
        if time.monotonic() > end:
            raise Failure(f"waited in vain: {what}")
        time.sleep(0.02)


def start(rig: Rig, *arguments: str, before: list[str] | None = None) -> subprocess.Popen:
    return subprocess.Popen([*(before or []), *rig.command(*arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, errors="backslashreplace", env={"PATH": "/usr/bin:/bin", "COLUMNS": "120"})


def programs_of(rig: Rig) -> list[str]:
    """The processes that run in a chroot of the guest."""
    def root_of(process: Path) -> str:
        try:
            return os.readlink(process / "root")
        except OSError:
            return ""

    return [p.name for p in Path("/proc").iterdir() if p.name.isdigit() and root_of(p) == str(rig.top)]


@contextlib.contextmanager
def waiting_dracut(rig: Rig) -> Iterator[None]:
    """The guest's dracut says that it has begun, and waits until it may go on."""
    (rig.top / "usr/bin/dracut").rename(rig.top / "usr/bin/dracut-good")
    (rig.top / "usr/bin/dracut").write_text(WAITING_DRACUT)
    (rig.top / "usr/bin/dracut").chmod(0o755)
    try:
        yield
    finally:
        for name in ("go", "dracut-waits"):
            (rig.top / "run" / name).unlink(missing_ok=True)
        (rig.top / "usr/bin/dracut-good").rename(rig.top / "usr/bin/dracut")


@contextlib.contextmanager
def held_in_dracut(rig: Rig) -> Iterator[subprocess.Popen]:
    """A --fix that is building its first image."""
    with waiting_dracut(rig), start(rig, "--fix") as first:
        try:
            wait_for("dracut", (rig.top / "run/dracut-waits").exists)
            yield first
        finally:
            first.kill()


@contextlib.contextmanager
def stopped_at(rig: Rig, call: str, number: int) -> Iterator[subprocess.Popen]:
    """A --fix that has just made its Nth call of that name; it goes on when the block ends."""
    log = rig.scratch / "stop.log"
    log.unlink(missing_ok=True)
    trace = [*strace(log, [call], f"{call}:signal=STOP:when={number}"), "-e", "signal=STOP"]
    with start(rig, "--fix", before=trace) as first:
        try:
            wait_for(f"{call} {number}", lambda: log.exists() and "--- stopped" in log.read_text())
            yield first
            for tool in Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split():
                os.kill(int(tool), signal.SIGCONT)
            said, _ = first.communicate(timeout=TIME_LIMIT)
            first.said = said
        finally:
            first.kill()


def let_go(rig: Rig, first: subprocess.Popen) -> tuple[int, str]:
    (rig.top / "run/go").touch()
    said, _ = first.communicate(timeout=TIME_LIMIT)
    return first.returncode, said


def renames(rig: Rig) -> int:
    """How many files a --fix renames into their places."""
    rig.call("--fix", before=strace(rig.scratch / "count.log", list(CHANGING)))
    rig.reset()
    return max(n for call, n in changing_calls(rig.scratch / "count.log") if call == "renameat")


def foreign_image(kernel: str, hostonly: bool = False) -> Image:
    """What a package manager's dracut makes: as good as ours, but other bytes."""
    image = Image(kernel, hostonly=hostonly)
    image.put("usr/share/made-by-somebody-else", b"x")
    return image


def contents(rig: Rig, name: str) -> bytes:
    return (rig.top / name).read_bytes()


def expect_only(rig: Rig, *names: str) -> None:
    now = picture(rig.top)
    for name in sorted(rig.start.keys() | now.keys()):
        if rig.start.get(name) != now.get(name) and not any(name == n or name.startswith(n + "/") for n in names):
            raise Failure(f"/{name}: {rig.start.get(name)} is now {now.get(name)}")


def expect_said(said: str, *words: str) -> None:
    flat = " ".join(said.split())
    for wanted in words:
        if wanted not in flat:
            raise Failure(f"it does not say {wanted!r}:\n{said}")


@case
def a_second_run(rig: Rig) -> None:
    """It says who holds the lock, exits 4 and changes nothing; the first is not disturbed."""
    with held_in_dracut(rig) as first:
        before = picture(rig.top)
        for arguments in (("--fix",), ("--undo",), ("--fix", "--json")):
            done = rig.call(*arguments)
            rig.expect_code(done, 4)
            expect_said(done.stdout + done.stderr, f"nvme-preflight --fix, pid {first.pid}, since 20")
        done = rig.call("--check")
        expect_said(done.stderr, f"pid {first.pid}", "may change under it")
        if "interrupted" in done.stderr:
            raise Failure(f"a run at work is no interrupted one: {done.stderr}")
        if picture(rig.top) != before:
            raise Failure("a refused run changed something")
        code, said = let_go(rig, first)
        if code != 0:
            raise Failure(f"the first run: exit {code}\n{said}")
    rig.expect_finished("the first run")
    rig.expect_tidy("the first run")
    done = rig.call("--check")
    if done.stderr:
        raise Failure(f"--check afterwards: {done.stderr}")


@case
def the_lock_dies_with_its_holder(rig: Rig) -> None:
    with held_in_dracut(rig) as first:
        first.kill()
        first.wait()
        wait_for("its dracut to die", lambda: not programs_of(rig))
        expect_said(rig.call("--check").stderr, "was interrupted", "--undo")
    rig.expect_start("killed while building")
    rig.expect_code(rig.call("--fix"), 0)
    rig.expect_finished("the next --fix")
    rig.expect_tidy("the next --fix")


@case
def an_old_lock_file_holds_nobody_up(rig: Rig) -> None:
    rig.state.mkdir(mode=0o700)
    (rig.state / "lock").write_text("nvme-preflight --fix, pid 1, since 2020-01-01T00:00:00Z\n")
    (rig.state / "lock").chmod(0o600)
    rig.expect_code(rig.call("--fix"), 0)
    rig.expect_finished("--fix")
    rig.expect_tidy("--fix")


@case
def an_image_rebuilt_while_ours_is_built(rig: Rig) -> None:
    with held_in_dracut(rig) as first:
        foreign_image(K1).write(rig.top / IMAGE1)
        code, said = let_go(rig, first)
    expect_said(said, f"/{IMAGE1}: has changed since the plan was made", "Nothing was changed")
    if code != 4:
        raise Failure(f"exit {code}\n{said}")
    expect_only(rig, IMAGE1)
    rig.expect_tidy("exit 4")


@case
def a_file_edited_while_ours_is_built(rig: Rig) -> None:
    with held_in_dracut(rig) as first:
        with (rig.top / "etc/fstab").open("a") as fstab:
            fstab.write("# by somebody else\n")
        code, said = let_go(rig, first)
    expect_said(said, "/etc/fstab: has changed since the plan was made", "Nothing was changed")
    if code != 4:
        raise Failure(f"exit {code}\n{said}")
    expect_only(rig, "etc/fstab")


@case
def an_image_rebuilt_before_ours_is_in_place(rig: Rig) -> None:
    """The edits and the other image are in place: all goes back, theirs stays."""
    with stopped_at(rig, "renameat", renames(rig) - 1) as first:
        foreign_image(K1).write(rig.top / IMAGE1)  # K2's is installed first
        theirs = contents(rig, IMAGE1)
    expect_said(first.said, f"/{IMAGE1}: has changed since the plan was made", "is what it was before")
    if first.returncode != 5 or contents(rig, IMAGE1) != theirs:
        raise Failure(f"exit {first.returncode}\n{first.said}")
    expect_only(rig, IMAGE1)
    rig.expect_tidy("exit 5")


@case
def an_image_rebuilt_after_ours_was_in_place(rig: Rig) -> None:
    """Seen although the fresh check is content with it; what can be put back is, and --force ends it."""
    with stopped_at(rig, "renameat", renames(rig)) as first:
        foreign_image(K2).write(rig.top / IMAGE2)
        theirs = contents(rig, IMAGE2)
    expect_said(first.said, f"/{IMAGE2}: was changed by another program", "could not be put back", "--force")
    if first.returncode != 6 or contents(rig, IMAGE2) != theirs:
        raise Failure(f"exit {first.returncode}\n{first.said}")
    expect_only(rig, IMAGE2)
    expect_said(rig.call("--check").stderr, "was interrupted")
    rig.expect_code(rig.call("--undo"), 4)
    rig.expect_code(rig.call("--undo", "--force"), 0)
    rig.expect_start("--undo --force")


@case
def a_bad_image_after_ours_was_in_place(rig: Rig) -> None:
    """A host-only image by a dracut that began before our drop-in was there."""
    with stopped_at(rig, "renameat", renames(rig)) as first:
        foreign_image(K2, hostonly=True).write(rig.top / IMAGE2)
    expect_said(first.said, "could not be put back", IMAGE2)
    if first.returncode != 6:
        raise Failure(f"exit {first.returncode}\n{first.said}")
    expect_only(rig, IMAGE2)


@case
def a_kernel_installed_meanwhile(rig: Rig) -> None:
    """Its image was built before our drop-in was there, and it is the default now: not ready."""
    with stopped_at(rig, "renameat", renames(rig)) as first:
        guest = object.__new__(Guest)
        guest.top, guest.kernels, guest.images = rig.top, [], {}
        guest.add_kernel(K3, Image(K3, hostonly=True)).write(rig.top / f"boot/initramfs-{K3}.img")
        guest.default(K3)
    expect_said(first.said, "would still not be ready", f"initramfs-{K3}.img")
    if first.returncode != 5:
        raise Failure(f"exit {first.returncode}\n{first.said}")
    expect_only(rig, f"usr/lib/modules/{K3}", f"boot/vmlinuz-{K3}", f"boot/initramfs-{K3}.img",
                f"boot/loader/entries/{MACHINE_ID}-{K3}.conf", "boot/grub2/grubenv")


@case
def a_signal_puts_everything_back(rig: Rig) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with held_in_dracut(rig) as first:
            first.send_signal(number)
            said, _ = first.communicate(timeout=TIME_LIMIT)
        if first.returncode != 5:
            raise Failure(f"exit {first.returncode}\n{said}")
        rig.expect_start("a signal")
        rig.expect_tidy("a signal")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    parser.add_argument("case", nargs="*")
    options = parser.parse_args()
    if why := cannot_run():
        return skip(why)
    trials = Trials("two at once: {} cases")
    with tempfile.TemporaryDirectory(prefix="two-", dir=scratch_parent()) as scratch:
        rig = Rig(options.tool, Path(scratch))
        for name, function in CASES.items():
            if options.case and name not in options.case:
                continue
            rig.reset()
            with trials.one(name):
                function(rig)
                rig.expect_private()
    return trials.finish()


if __name__ == "__main__":
    sys.exit(main())
