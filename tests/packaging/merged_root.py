# SPDX-License-Identifier: MIT
"""A case guest laid over this machine's root: its own files win, and what it lacks (bash, systemd's programs, python)
is this machine's. Everything happens in a mount namespace of its own; what is written stays in the scratch folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/support"))
from guest import Guest, write_lsblk  # noqa: E402

ENTER = """set -eu
guest=$1 up=$2 work=$3 root=$4 trees=$5; shift 5
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$guest:/,upperdir=$up,workdir=$work" "$root"
mount --bind "$guest/boot" "$root/boot"
case $trees in *proc*) mount -t proc proc "$root/proc" ;; esac
case $trees in *sys*) mount --bind /sys "$root/sys" ;; esac
case $trees in
  *dev*) mount --bind /dev "$root/dev" ;;
  *)
    # No devices but the one without which no shell script works, and the journal's socket where there is one.
    mount -t tmpfs tmpfs "$root/dev"
    touch "$root/dev/null" && mount --bind /dev/null "$root/dev/null"
    if [ -S "$guest.log" ]; then touch "$root/dev/log" && mount --bind "$guest.log" "$root/dev/log"; fi ;;
esac
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C "$@"
"""


class MergedRoot:
    def __init__(self, guest: Guest, folder: Path) -> None:
        self.guest, self.folder = guest, folder
        for name in ("up", "work", "root"):
            (folder / name).mkdir()
        self.log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.log.bind(f"{guest.top}.log")
        self.log.setblocking(False)

    def run(self, *command: str, trees: str = "proc sys") -> subprocess.CompletedProcess:
        """Runs a command inside; `trees` are those of /proc, /sys and /dev that are mounted."""
        folders = [str(self.folder / name) for name in ("up", "work", "root")]
        return subprocess.run(["unshare", "--mount", "sh", "-c", ENTER, "enter", str(self.guest.top), *folders, trees,
                               *command], capture_output=True, text=True, timeout=300)

    def journal(self) -> list[str]:
        """What was sent to /dev/log since the last call."""
        lines = []
        while True:
            try:
                lines.append(self.log.recv(65536).decode(errors="replace"))
            except BlockingIOError:
                return lines

    def install_tool(self, tool: Path, lsblk: bool = True) -> None:
        """The program, told what the guest's disks are: those of this machine are not the guest's."""
        real = self.guest.path("usr/libexec/nvme-preflight")
        real.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tool, real)
        disks = write_lsblk(self.guest, self.guest.path("usr/share/lsblk.json")) if lsblk else None
        option = "--lsblk /usr/share/lsblk.json " if disks else ""
        self.guest.write("usr/sbin/nvme-preflight",
                         f'#!/bin/sh\necho "$@" >>/var/tmp/calls\nexec /usr/libexec/nvme-preflight {option}"$@"\n', 0o755)

    def calls(self) -> list[str]:
        """With which arguments the program was called since the last call."""
        path = self.folder / "up/var/tmp/calls"
        if not path.exists():
            return []
        lines = path.read_text().splitlines()
        path.unlink()
        return lines


def scratch_folder() -> tempfile.TemporaryDirectory:
    """In memory: the kernel refuses an overlay whose layers lie within one another (ELOOP), and this machine's root,
    with its /tmp, is one of them."""
    return tempfile.TemporaryDirectory(dir="/dev/shm")


def can_merge() -> str:
    """Why this machine cannot lay a guest over its root; empty when it can."""
    if os.geteuid() != 0:
        return "not root"
    with scratch_folder() as scratch:
        folder = Path(scratch)
        guest = Guest(folder / "guest")
        done = MergedRoot(guest, folder).run("true")
        return done.stderr.strip() if done.returncode else ""
