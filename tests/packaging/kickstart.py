#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kickstart's %post in a chroot: another kernel runs, no udev, with and without /proc, /sys and /dev, and the
devices file is the installer's.

usage: kickstart.py --tool PATH
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from merged_root import MergedRoot, can_merge, scratch_folder
from tally import Tally, skip
from guest import K1, Guest, Image, write_lsblk
from kickstart_post import LOG, post

DNF = """#!/bin/sh
echo "dnf $*"
mv /usr/share/to-install /usr/sbin/nvme-preflight
"""


def installed_guest(folder: Path, tool: Path, blocked: bool = False) -> MergedRoot:
    """As an installer leaves it: host-only image, devices file made on virtio-blk."""
    folder.mkdir()
    guest = Guest(folder / "guest")
    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n", "\t# use_devicesfile = 1\n")
    guest.devices_file()
    guest.path("var/log").mkdir()
    guest.stand_in_dracut()
    if blocked:
        guest.write_entry(K1, guest.options() + " modprobe.blacklist=nvme")
    guest.finish()
    merged = MergedRoot(guest, folder)
    merged.install_tool(tool)
    return merged


def check_from_outside(merged: MergedRoot, tool: Path) -> int:
    """What --check says of the tree as it was left, /boot and the written layer over the guest."""
    lsblk = write_lsblk(merged.guest, merged.folder / "lsblk.json")
    copy = merged.folder / "result"
    subprocess.run(["cp", "-a", str(merged.guest.top), str(copy)], check=True)
    for name in ("etc", "usr", "var"):
        if (merged.folder / "up" / name).exists():
            subprocess.run(["cp", "-a", "--remove-destination", str(merged.folder / "up" / name), str(copy)], check=True)
    return subprocess.run([str(tool), "--root", str(copy), "--lsblk", str(lsblk), "--check"], capture_output=True,
                          timeout=120).returncode


def fixes(tally: Tally, folder: Path, tool: Path, trees: str) -> None:
    what = f"with {trees}" if trees else "with none of /proc, /sys, /dev"
    merged = installed_guest(folder, tool)
    tally.same(f"{what}: not ready before", check_from_outside(merged, tool), 1)
    subprocess.run(["rm", "-rf", str(folder / "result")], check=True)
    done = merged.run("bash", "-c", post("fail"), trees=trees)
    said = done.stdout + done.stderr
    tally.same(f"{what}: exit code", done.returncode, 0, said)
    tally.holds(f"{what}: says so", "this system would boot on NVMe" in done.stdout, said)
    log = folder / "up" / LOG
    tally.holds(f"{what}: the log", log.exists() and K1 in log.read_text(), said)
    tally.same(f"{what}: ready after", check_from_outside(merged, tool), 0, said)


def fails(tally: Tally, folder: Path, tool: Path) -> None:
    for choice, code in (("continue", 0), ("fail", 1)):
        merged = installed_guest(folder / choice, tool, blocked=True)
        done = merged.run("bash", "-c", post(choice), trees="proc sys")
        said = done.stdout + done.stderr
        tally.same(f"cannot be fixed, {choice}: exit code", done.returncode, code, said)
        tally.holds(f"cannot be fixed, {choice}: loud", "may NOT boot on NVMe (exit code 1)" in done.stderr, said)
        tally.holds(f"cannot be fixed, {choice}: the log says why",
                    "initramfs.blocked" in (merged.folder / "up" / LOG).read_text(), said)


def installs(tally: Tally, folder: Path, tool: Path) -> None:
    merged = installed_guest(folder, tool)
    merged.guest.path("usr/sbin/nvme-preflight").rename(merged.guest.path("usr/share/to-install"))
    merged.guest.write("usr/bin/dnf", DNF, 0o755)
    done = merged.run("bash", "-c", post("fail"), trees="proc sys")
    said = done.stdout + done.stderr
    tally.same("installed first: exit code", done.returncode, 0, said)
    tally.holds("installed first: by dnf",
                "dnf -y --setopt=install_weak_deps=False install nvme-preflight\n" in done.stdout, said)
    merged.guest.remove("usr/sbin/nvme-preflight") if merged.guest.path("usr/sbin/nvme-preflight").exists() else None
    (folder / "up/usr/sbin/nvme-preflight").unlink(missing_ok=True)
    merged.guest.write("usr/bin/dnf", "#!/bin/sh\necho no repository; exit 1\n", 0o755)
    done = merged.run("bash", "-c", post("fail"), trees="proc sys")
    tally.same("cannot be installed: exit code", done.returncode, 1, done.stdout + done.stderr)
    tally.holds("cannot be installed: the reason is shown", "no repository" in done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=Path)
    tool = parser.parse_args().tool.resolve()
    if why := can_merge():
        return skip(f"no guest can be laid over this machine's root: {why}")
    tally = Tally()
    with scratch_folder() as scratch:
        folder = Path(scratch)
        for number, trees in enumerate(("proc sys dev", "proc sys", "proc", "")):
            fixes(tally, folder / f"fixes{number}", tool, trees)
        (folder / "fails").mkdir()
        fails(tally, folder / "fails", tool)
        installs(tally, folder / "installs", tool)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
