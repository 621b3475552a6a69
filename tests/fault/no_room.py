#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Too little room, or too few inodes, on /boot or /var: exit 4 with the numbers and the ways out.

Nothing is changed, nothing is left behind, and once there is room the same --fix works.

usage: no_room.py --tool PATH
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inject import cannot_run
from rig import K1, Failure, Rig, Trials, own_mounts, picture, scratch_parent, skip

PAGE = 4096


@contextlib.contextmanager
def on_a_tmpfs(rig: Rig, name: str, options: str) -> Iterator[Path]:
    """That folder of the guest as a file system of its own."""
    place = rig.top / name
    aside = rig.scratch / "aside"
    place.rename(aside)
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True, timeout=60)
    try:
        subprocess.run(["cp", "-a", f"{aside}/.", place], check=True, timeout=60)
        yield place
    finally:
        subprocess.run(["umount", place], check=True, timeout=60)
        place.rmdir()
        aside.rename(place)


def blocks_of(top: Path) -> int:
    return sum(-(-path.lstat().st_size // PAGE) if path.is_file() and not path.is_symlink() else 0 for path in top.rglob("*"))


def expect_refusal(rig: Rig, words: tuple[str, ...], numbers: str) -> None:
    before = picture(rig.top)
    done = rig.call("--fix")
    said = " ".join((done.stdout + done.stderr).split())
    rig.expect_code(done, 4)
    for word in (*words, "Make room", "dnf remove kernel-core-"):
        if word not in said:
            raise Failure(f"it does not say {word!r}:\n{said}")
    if not re.search(numbers, said):
        raise Failure(f"no numbers like {numbers!r}:\n{said}")
    if picture(rig.top) != before:
        raise Failure("exit 4, but something was changed")
    rig.expect_tidy("exit 4")


def small_boot(rig: Rig) -> None:
    """Room for all but half an image."""
    size = blocks_of(rig.top / "boot") * PAGE + (rig.top / f"boot/initramfs-{K1}.img").stat().st_size // 2
    with on_a_tmpfs(rig, "boot", f"size={size // PAGE * PAGE}") as boot:
        expect_refusal(rig, ("/boot has", "--fix --keep-hostonly"), r"/boot has \d+\.\d MB free; a new image .* \d+\.\d MB")
        subprocess.run(["mount", "-o", "remount,size=64m", boot], check=True, timeout=60)
        rig.expect_code(rig.call("--fix"), 0)
        rig.expect_code(rig.call("--undo"), 0)


def small_var(rig: Rig) -> None:
    with on_a_tmpfs(rig, "var", "size=256k"):
        expect_refusal(rig, ("/var",), r"/var\S* has \d+\.\d MB free; \d+\.\d MB are needed there for backups and new images")


def boot_without_inodes(rig: Rig) -> None:
    used = sum(1 for _ in (rig.top / "boot").rglob("*")) + 2
    with on_a_tmpfs(rig, "boot", f"size=64m,nr_inodes={used}"):
        expect_refusal(rig, ("/boot",), r"/boot\S* has \d+ free inodes, \d+ are needed")


CASES = (small_boot, small_var, boot_without_inodes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    options = parser.parse_args()
    if why := cannot_run():
        return skip(why)
    own_mounts()
    trials = Trials("no room: {} cases")
    with tempfile.TemporaryDirectory(prefix="room-", dir=scratch_parent()) as scratch:
        rig = Rig(options.tool, Path(scratch))
        for case in CASES:
            rig.reset()
            with trials.one(case.__name__):
                case(rig)
    return trials.finish()


if __name__ == "__main__":
    sys.exit(main())
