#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A dracut that fails, lies, hangs, fills the disk or writes where it should not.

Each ends with exit 5, every file as it was, a message that quotes the end of dracut's log, and that
log in the run's folder; or, where the image is good all the same, with exit 0 and the finished
state. Nothing dracut started is left, and the next --fix with a sane dracut reaches the finished
state.

usage: dracut_misbehaves.py --tool PATH [CASE..]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rig import K1, K2, Failure, Image, Rig, Trials, picture, scratch_parent, skip

LAST_WORDS = "dracut: these are my last words"

HEAD = """#!/usr/bin/busybox sh
eval "image=\\${$(($# - 1))} kernel=\\${$#}"
good() { /usr/bin/dracut-good "$@"; }
die() { echo 'LAST_WORDS' >&2; exit "${1:-1}"; }
alias cp='busybox cp' rm='busybox rm' head='busybox head' sleep='busybox sleep' setsid='busybox setsid'
alias ln='busybox ln' mkfifo='busybox mkfifo' mkdir='busybox mkdir' mv='busybox mv' dd='busybox dd' cat='busybox cat'
""".replace("LAST_WORDS", LAST_WORDS)


@dataclass(frozen=True)
class Case:
    script: str
    said: str = ""  # in the message, beside dracut's last words
    code: int = 5
    options: tuple[str, ...] = ()
    prepare: Callable[[Rig], None] | None = None  # before --fix
    clean_up: Callable[[Rig], None] | None = None
    quoted: bool = True


def unfit(change: Callable[[Image], None], kernels: tuple[str, ...] = (K1, K2)) -> Callable[[Rig], None]:
    """A ready-made image that lacks something, for a dracut that says it is fine."""

    def prepare(rig: Rig) -> None:
        for kernel in kernels:
            image = Image(kernel)
            change(image)
            image.write(rig.top / f"usr/share/stand-in/unfit-{kernel}.img")

    return prepare


def small_var(rig: Rig) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(rig.top / "var")], check=True)
    for folder in ("lib", "tmp"):
        (rig.top / "var" / folder).mkdir()


def umount_var(rig: Rig) -> None:
    subprocess.run(["umount", str(rig.top / "var")], check=True)


UNFIT = 'cp "/usr/share/stand-in/unfit-$kernel.img" "$image"; die 0'

CASES = {
    "fails": Case("die 1", "exit status 1"),
    "killed": Case("echo 'LAST' >&2; busybox kill -9 $$".replace("LAST", LAST_WORDS), "exit status 137"),
    "deletes-its-target": Case(
        'good "$@"; rm -f "$image" /boot/initramfs-*.img /boot/initramfs-$kernel.img; die 1', "exit status 1"),
    "moves-the-old-image-away": Case(
        'mv /boot/initramfs-$kernel.img /boot/old.img; [ -e /boot/old.img ] && mv /boot/old.img '
        '/boot/initramfs-$kernel.img && echo moved; die 1', "exit status 1"),
    "writes-over-the-old-image": Case(
        'for i in /boot/initramfs-*.img; do echo junk >"$i"; done; die 1', "exit status 1"),
    "writes-nothing": Case("die 0", "wrote no image"),
    "writes-an-empty-image": Case(': >"$image"; die 0', "not fit"),
    "writes-half-an-image": Case(
        'good "$@"; head -c 700 "$image" >"$image.half"; mv "$image.half" "$image"; die 0', "not fit"),
    "writes-junk": Case('head -c 100000 /dev/urandom >"$image"; die 0', "not fit"),
    "second-image-fails": Case(f'[ "$kernel" = {K1} ] && die 1; good "$@"', "exit status 1"),
    "without-nvme": Case('cp "/usr/share/stand-in/hostonly-$kernel.img" "$image"; die 0', "nvme would not load"),
    "without-lvm": Case(UNFIT, "usr/sbin/lvm", prepare=unfit(lambda i: i.drop("usr/sbin/lvm"))),
    "without-the-root-file-system": Case(
        UNFIT, "xfs, which the root file system needs", prepare=unfit(lambda i: i.drop_module("kernel/fs/xfs/xfs.ko.xz"))),
    "without-the-way-back": Case(
        UNFIT, "virtio_blk is missing",
        prepare=unfit(lambda i: i.drop_module("kernel/drivers/block/virtio_blk.ko.xz"))),
    "for-another-kernel": Case(
        f'[ "$kernel" = {K1} ] && other={K2} || other={K1}; cp "/usr/share/stand-in/generic-$other.img" "$image"; die 0',
        "nvme would not load"),
    "writes-a-link": Case('ln -s /usr/share/stand-in/generic-$kernel.img "$image"; die 0', "wrote no image"),
    "writes-a-fifo": Case('mkfifo "$image"; die 0', "wrote no image"),
    "writes-a-directory": Case('mkdir "$image"; die 0', "wrote no image"),
    "hangs": Case(
        f"echo '{LAST_WORDS}' >&2; (while :; do sleep 1000; done) & setsid busybox sh -c 'while :; do busybox sleep 1000; "
        "done' & while :; do sleep 1000; done", "within 3 seconds", options=("--time-limit", "3")),
    "hangs-silently": Case(
        f"echo '{LAST_WORDS}' >&2; exec >/dev/null 2>&1; while :; do sleep 1000; done", "within 3 seconds",
        options=("--time-limit", "3")),
    "fills-the-disk": Case(
        'dd if=/dev/zero of="$image" bs=65536 2>/dev/null; die 1', "exit status 1", prepare=small_var, clean_up=umount_var),
    "fills-the-disk-and-says-nothing": Case(
        'good "$@"; dd if=/dev/zero bs=65536 2>/dev/null >>"$image"; exit 0', "No space left on device", prepare=small_var,
        clean_up=umount_var, quoted=False),
    "prints-escapes": Case(
        "printf '\\033]0;owned\\007\\033[2J\\233\\r\\b\\000bad\\377\\n' >&2; die 1", "\\x1b]0;owned\\x07\\x1b[2J"),
    "prints-without-end": Case(
        'busybox yes "dracut: the same again and again" | head -c 8000000 >&2; die 1', "exit status 1"),
    "cannot-be-run": Case("", "cannot run", quoted=False),
    # The image is good all the same.
    "writes-over-the-old-image-but-builds": Case(
        'echo junk >/boot/initramfs-$kernel.img; rm -f /boot/initramfs-*; good "$@"', code=0),
    "leaves-a-daemon": Case('good "$@"; setsid busybox sleep 1000 & sleep 1000 & exit 0', code=0),
    "exits-1-after-a-good-image": Case('good "$@"; die 1', "exit status 1"),
}


def guest_processes(rig: Rig) -> list[str]:
    """Processes that run in the guest's tree."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if str(os.readlink(process / "exe")).endswith(f"{rig.top}/usr/bin/busybox"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                elif os.readlink(process / "root") == str(rig.top):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass
    return found


def mounts(rig: Rig) -> str:
    return "".join(line for line in Path("/proc/self/mountinfo").read_text().splitlines(True) if str(rig.top) in line)


def run_case(rig: Rig, name: str, case: Case) -> None:
    rig.reset()
    (rig.top / "usr/bin/dracut").rename(rig.top / "usr/bin/dracut-good")
    script = rig.top / "usr/bin/dracut"
    script.write_text("#!/no/such/shell\n" if name == "cannot-be-run" else HEAD + case.script + "\n")
    script.chmod(0o755)
    if case.prepare:
        case.prepare(rig)
    try:
        before, mounted = picture(rig.top), mounts(rig)
        done = rig.call("--fix", *case.options)
        said = done.stdout + done.stderr
        try:
            judge(rig, case, done.returncode, said, before)
            if left := guest_processes(rig):
                raise Failure(f"dracut left processes behind: {left}")
            if mounts(rig) != mounted:
                raise Failure("a mount was left behind")
        except Failure as failure:
            raise Failure(f"{failure}\n{said}") from failure
        (rig.top / "usr/bin/dracut-good").rename(script)
        if case.code != 0:
            rig.expect_code(rig.call("--fix"), 0)
            rig.expect_bootable(picture(rig.top))
    finally:
        if case.clean_up:
            case.clean_up(rig)


def judge(rig: Rig, case: Case, code: int, said: str, before: dict[str, tuple]) -> None:
    if code != case.code:
        raise Failure(f"exit {code}, wanted {case.code}")
    now = picture(rig.top)
    rig.expect_bootable(now)
    rig.expect_tidy(f"exit {code}")
    rig.expect_private()
    if rig.unfinished():
        raise Failure(f"unfinished: {rig.unfinished()}")
    if code == 0:
        changed = {name for name in before if before[name] != now.get(name)}
        if not rig.changed - {"etc/dracut.conf.d/zz-nvme-preflight.conf"} <= changed | {"etc/dracut.conf.d"}:
            raise Failure(f"not everything was fixed: {changed}")
        return
    if now != before:
        raise Failure(f"changed: {sorted(n for n in now.keys() | before.keys() if now.get(n) != before.get(n))}")
    if "\x1b" in said or "\x07" in said:
        raise Failure("an escape sequence reached the terminal")
    for words in (case.said, *([LAST_WORDS, "the end of dracut's output"] if case.quoted else [])):
        if words not in " ".join(said.split()) and words not in said:
            raise Failure(f"the message does not say {words!r}")
    if case.quoted:
        expect_log(rig, said)


def expect_log(rig: Rig, said: str) -> None:
    runs = rig.runs()
    if len(runs) != 1 or f"/{runs[0]}" not in said:
        raise Failure(f"the message names no run folder: {runs}")
    log = "".join(p.read_text() for p in sorted((rig.state / runs[0]).glob("dracut-*.log")))
    if LAST_WORDS not in log or "\x1b" in log:
        raise Failure(f"the log in the run's folder: {log[-2000:]!r}")
    if list((rig.state / runs[0]).glob("backup*")):
        raise Failure("a run that changed nothing has backups")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    parser.add_argument("case", nargs="*", choices=[*CASES, []])
    options = parser.parse_args()
    if os.geteuid() != 0:
        return skip("must be root (the guest's dracut runs in a chroot)")
    trials = Trials("misbehaving dracuts: {}")
    with tempfile.TemporaryDirectory(prefix="dracut-", dir=scratch_parent()) as scratch:
        rig = Rig(options.tool, Path(scratch))
        for name in options.case or list(CASES):
            with trials.one(name):
                run_case(rig, name, CASES[name])
    return trials.finish()


if __name__ == "__main__":
    sys.exit(main())
