# SPDX-License-Identifier: MIT
"""A guest to be hurt: a Rocky Linux 9 tree with two kernels whose images, boot entries, fstab,
lvm.conf and dracut configuration all have to change, and what its files looked like at the start.

Every claim is judged by what lies on the disk, read here with Python, not by what the tool says.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from guest import BOOT_UUID, K1, K2, MACHINE_ID, Guest, Image, write_lsblk  # noqa: E402
from tally import skip  # noqa: E402, F401

STATE = "var/lib/nvme-preflight"
NEW_SUFFIX = ".nvme-preflight-new"
TIME_LIMIT = 300  # a hang, not a slow machine


class Failure(Exception):
    pass


class Trials:
    """Counts what was tried and what failed, each failure told at once. `what` has {} for the first number."""

    def __init__(self, what: str) -> None:
        self.what, self.tried, self.failures = what, 0, 0

    @contextlib.contextmanager
    def one(self, name: str = "") -> Iterator[None]:
        self.tried += 1
        try:
            yield
        except (Failure, subprocess.SubprocessError, OSError) as failure:
            self.failures += 1
            print(f"FAILED {name and name + ': '}{failure}", flush=True)

    def finish(self) -> int:
        print(f"{self.what.format(self.tried)}, failures: {self.failures}")
        return 1 if self.failures or not self.tried else 0


def own_mounts() -> None:
    """Starts the script again where nobody else sees its mounts."""
    if os.environ.get("FAULT_OWN_MOUNTS") != "1":
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv],
                   {**os.environ, "FAULT_OWN_MOUNTS": "1"})


def scratch_parent() -> str | None:
    """In memory where possible: a run waits for the disk dozens of times."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def build_guest(top: Path, change: Callable[[Guest], None] | None = None) -> Guest:
    guest = Guest(top)
    guest.images[K1] = Image(K1, hostonly=True)
    guest.add_kernel(K2, Image(K2, hostonly=True))
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n", "\t# use_devicesfile = 1\n")
    guest.edit("etc/fstab", f"UUID={BOOT_UUID} ", "/dev/vda2 ")
    for kernel in (K1, K2):
        guest.edit(f"boot/loader/entries/{MACHINE_ID}-{kernel}.conf", " ro ", " ro boot=/dev/vda2 ")
    guest.devices_file()
    if change:
        change(guest)
    guest.stand_in_dracut()
    guest.finish()
    decorate(guest)
    return guest


def decorate(guest: Guest) -> None:
    """Modes, owners, attributes and times that nobody would get by chance."""
    odd = {"etc/lvm/lvm.conf": (0o640, 0, 6), "etc/fstab": (0o664, 1, 1),
           f"boot/initramfs-{K1}.img": (0o600, 0, 0), f"boot/initramfs-{K2}.img": (0o640, 0, 3)}
    for number, (name, (mode, uid, gid)) in enumerate(odd.items()):
        path = guest.path(name)
        os.chown(path, uid, gid)
        path.chmod(mode)
        for attribute in ("user.note", "trusted.note", "security.selinux"):
            try:
                os.setxattr(path, attribute, f"{attribute} of {number}".encode())
            except OSError:
                pass  # a file system without them
        os.utime(path, ns=(10**18 + number, 10**18 + 456_789 + number))


def picture(top: Path) -> dict[str, tuple]:
    """All that a person could tell about every file; the tool's own folder and the times of
    directories (any file written beside another changes them) left out."""
    seen: dict[str, tuple] = {}
    for folder, folders, names in os.walk(top):
        relative_folder = os.path.relpath(folder, top)
        if relative_folder == os.path.dirname(STATE):
            folders[:] = [f for f in folders if f != os.path.basename(STATE)]
        for name in folders + names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content, mtime = "", 0
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content, mtime = hashlib.sha256(Path(path).read_bytes()).hexdigest(), status.st_mtime_ns
            xattrs = tuple(sorted((n, os.getxattr(path, n, follow_symlinks=False))
                                  for n in os.listxattr(path, follow_symlinks=False)))
            seen[os.path.normpath(os.path.join(relative_folder, name))] = (
                oct(status.st_mode), status.st_uid, status.st_gid, xattrs, content, mtime)
    return seen


def timeless(entry: tuple | None) -> tuple | None:
    return entry[:-1] if entry else entry


def expect_same(wanted: dict[str, tuple], got: dict[str, tuple], what: str, times: bool = True) -> None:
    view = (lambda entry: entry) if times else timeless
    for name in sorted(wanted.keys() | got.keys()):
        if view(wanted.get(name)) != view(got.get(name)):
            raise Failure(f"{what}: /{name}\n  wanted {wanted.get(name)}\n  got    {got.get(name)}")


class Rig:
    """One guest tree, its templates and the tool."""

    def __init__(self, tool: Path, scratch: Path, change: Callable[[Guest], None] | None = None) -> None:
        self.scratch, self.top = scratch, scratch / "root"
        scratch.mkdir(exist_ok=True)
        # A copy: the tool may be built anew meanwhile.
        self.tool = Path(shutil.copy2(tool, scratch / "nvme-preflight"))
        guest = build_guest(self.top, change)
        self.lsblk = write_lsblk(guest, scratch / "lsblk.json")
        self.start = picture(self.top)
        self.keep("start")
        self.expect_code(self.call("--fix"), 0)
        self.finished = picture(self.top)
        self.changed = {n for n in self.start.keys() | self.finished.keys()
                        if timeless(self.start.get(n)) != timeless(self.finished.get(n))}
        self.keep("fixed")

    @property
    def state(self) -> Path:
        return self.top / STATE

    def command(self, *arguments: str) -> list[str]:
        return [str(self.tool), "--root", str(self.top), "--lsblk", str(self.lsblk), *arguments]

    def call(self, *arguments: str, before: list[str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([*(before or []), *self.command(*arguments)], capture_output=True, text=True,
                              timeout=TIME_LIMIT, errors="backslashreplace",
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS": "120"})

    @staticmethod
    def expect_code(done: subprocess.CompletedProcess, *wanted: int) -> None:
        if done.returncode not in wanted:
            raise Failure(f"exit {done.returncode}, wanted {wanted}\n{done.stdout}{done.stderr}")

    def keep(self, name: str) -> None:
        """The tree as it is now becomes a template."""
        subprocess.run(["cp", "-a", str(self.top), str(self.scratch / name)], check=True)

    def reset(self, name: str = "start") -> None:
        shutil.rmtree(self.top)
        subprocess.run(["cp", "-a", str(self.scratch / name), str(self.top)], check=True)

    # What is on the disk.

    def runs(self) -> list[str]:
        return sorted(p.name for p in self.state.iterdir() if p.is_dir()) if self.state.exists() else []

    def unfinished(self) -> list[str]:
        """Runs whose journal's last word is neither "committed" nor "undone"."""
        found = []
        for run in self.runs():
            journal = self.state / run / "journal"
            lines = journal.read_text().split("\n")[:-1] if journal.exists() else []
            states = [e["state"] for e in map(json.loads, lines) if e["event"] == "state"]
            if not states or states[-1] == "undoing":
                found.append(run)
        return found

    def leftovers(self) -> list[str]:
        """Temporary files anywhere, the lock, half-built images."""
        names = [str(p.relative_to(self.top)) for p in self.top.rglob(f"*{NEW_SUFFIX}")]
        names += [str(p.relative_to(self.top)) for run in self.runs()
                  for p in (self.state / run).glob("staging")]
        if (self.state / "lock").exists():
            names.append(f"{STATE}/lock")
        if self.state.exists() and not self.runs():
            names.append(STATE)
        return names

    # What must hold.

    def expect_whole(self) -> None:
        """At any instant: every file is the old or the new one, whole, and nothing else is there."""
        now = picture(self.top)
        for name in sorted(self.start.keys() | self.finished.keys() | now.keys()):
            entry = now.get(name)
            if entry == self.start.get(name) or timeless(entry) == timeless(self.finished.get(name)):
                continue
            if name.endswith(NEW_SUFFIX) and name not in self.start:
                continue
            raise Failure(f"neither old nor new: /{name}\n  old {self.start.get(name)}\n"
                          f"  new {self.finished.get(name)}\n  now {entry}")
        self.expect_bootable(now)

    def expect_bootable(self, now: dict[str, tuple]) -> None:
        """Each boot entry's kernel and image are there and whole, the entry itself as well."""
        entries = sorted((self.top / "boot/loader/entries").glob("*.conf"))
        if len(entries) != 2:
            raise Failure(f"boot entries: {entries}")
        for entry in entries:
            words = dict(line.split(" ", 1) for line in entry.read_text().splitlines())
            for key in ("linux", "initrd"):
                name = "boot" + words[key]
                if timeless(now.get(name)) not in (timeless(self.start[name]), timeless(self.finished[name])):
                    raise Failure(f"{entry.name}: {key} {words[key]} is not whole: {now.get(name)}")

    def expect_start(self, what: str) -> None:
        expect_same(self.start, picture(self.top), what)

    def expect_finished(self, what: str) -> None:
        expect_same(self.finished, picture(self.top), what, times=False)

    def expect_tidy(self, what: str) -> None:
        if left := self.leftovers():
            raise Failure(f"{what}: left behind: {left}")

    def expect_private(self) -> None:
        """Backups are as secret as their originals: nobody else gets into a run's folder."""
        for run in self.runs():
            for path in (self.state / run, *(self.state / run).glob("*")):
                if path.name != "staging" and path.lstat().st_mode & 0o077:
                    raise Failure(f"{path} can be read by others: {oct(path.lstat().st_mode)}")
