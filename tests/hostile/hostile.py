#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile guest trees under --root, as root. See README.md for what each run has to keep.

usage: hostile.py --tool PATH [--long] [FILTER..]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))
import archives  # noqa: E402
from guest import K1, K2, MACHINE_ID, Guest, Image, write_lsblk  # noqa: E402
from tally import skip  # noqa: E402
from trace import Trace  # noqa: E402

HANG = 120  # seconds; no run comes near it on an idle machine
MEMORY_CAP = 128 << 10  # KiB, as ru_maxrss counts
MARKER = "OUTSIDE-THE-ROOT-7f3a"
CHECK_CODES = {0, 1, 3}
DRY_RUN_CODES = {0, 1, 3, 4}
FIX_CODES = {0, 1, 3, 4, 5}
UNDO_CODES = {0, 1, 3, 4, 6}
STATE = "var/lib/nvme-preflight"


class Broken(Exception):
    pass


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


class Runner:
    """runner.py, started while this process is small."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-I", "-S", HERE / "runner.py"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, command: list[str], out: Path, err: Path) -> dict:
        assert self.process.stdin and self.process.stdout
        order = {"command": command, "out": str(out), "err": str(err), "limit": HANG}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@dataclass
class Tally:
    runner: Runner
    cases: int = 0
    runs: int = 0
    traced: int = 0
    opens: int = 0
    failed: int = 0
    memory: int = 0  # KiB
    slowest: float = 0
    memory_case: str = ""


@dataclass
class Outcome:
    code: int
    out: bytes
    err: bytes

    @property
    def report(self) -> dict:
        return json.loads(self.out)

    def statuses(self, check: str) -> set[str]:
        return {f["status"] for f in self.report["findings"] if f["check"] == check}


def shows_controls(text: bytes) -> str:
    """The first thing in an output that could drive a terminal; "" when there is none."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8: {error}"
    for character in decoded:
        number = ord(character)
        if (number < 0x20 and character not in "\n\t") or 0x7f <= number < 0xa0 or 0x202a <= number <= 0x202e \
                or 0x2066 <= number <= 0x2069:
            return f"U+{number:04X}"
    return ""


class Scene:
    """A hostile tree, something outside of it that must stay untouched, and the tool."""

    def __init__(self, scratch: Path, tool: Path, tally: Tally) -> None:
        self.scratch, self.tool, self.tally = scratch, tool, tally
        self.outside = scratch / "outside"
        self.guest = Guest(scratch / "root")
        self.top = self.guest.top
        self.lsblk: Path | None = None
        self.make_outside()

    def make_outside(self) -> None:
        """A whole guest's worth of files, each with the marker, for links to lead to."""
        shutil.copytree(self.top, self.outside, symlinks=True)
        for folder, _, names in os.walk(self.outside):
            for name in names:
                path = Path(folder) / name
                if not path.is_symlink():
                    path.write_text(f"# {MARKER}\n{MARKER}=1\n/dev/vda9 /{MARKER} xfs\n")
        (self.outside / "boot").mkdir(exist_ok=True)
        for kernel in (K1, K2):
            (self.outside / f"boot/initramfs-{kernel}.img").write_text(MARKER)

    def finish(self) -> None:
        self.guest.finish()
        self.lsblk = write_lsblk(self.guest, self.scratch / "lsblk.json")

    def path(self, name: str) -> Path:
        return self.top / name

    def clear(self, name: str) -> Path:
        path = self.path(name)
        if path.is_symlink() or path.exists():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def command(self, *arguments: str) -> list[str]:
        lsblk = ["--lsblk", str(self.lsblk)] if self.lsblk else []
        return [str(self.tool), "--root", str(self.top), *lsblk, *arguments]

    def run(self, *arguments: str, codes: set[int], trace: bool = False) -> Outcome:
        command = self.command(*arguments)
        log = self.scratch / "trace"
        if trace:
            command = Trace.command(log) + command
        out, err = self.scratch / "stdout", self.scratch / "stderr"
        done = self.tally.runner.run(command, out, err)
        outcome = Outcome(done["code"], out.read_bytes(), err.read_bytes())
        self.judge(arguments, outcome, codes, done["seconds"], None if trace else done["memory"])
        if trace:
            self.judge_trace(log)
        return outcome

    def judge(self, arguments: tuple[str, ...], outcome: Outcome, codes: set[int], seconds: float,
              memory: int | None) -> None:
        what = " ".join(arguments) or "--check"
        self.tally.runs += 1
        self.tally.slowest = max(self.tally.slowest, seconds)
        require(seconds < HANG, f"{what}: still running after {HANG} s")
        require(outcome.code in codes, f"{what}: exit {outcome.code}, expected one of {sorted(codes)}\n"
                + outcome.err.decode("utf-8", "backslashreplace")[-500:])
        for name, text in (("stdout", outcome.out), ("stderr", outcome.err)):
            controls = shows_controls(text)
            require(not controls, f"{what}: {controls} on {name}")
            require(MARKER.encode() not in text, f"{what}: {name} shows what lies outside of the root")
        if memory is not None:
            self.tally.memory = max(self.tally.memory, memory)
            require(memory < MEMORY_CAP, f"{what}: {memory >> 10} MiB of memory")

    def judge_trace(self, log: Path) -> None:
        trace = Trace(log, self.top, self.lsblk)
        self.tally.traced += 1
        self.tally.opens += trace.opens
        require(trace.opens > 0, "the trace shows no opened file of the tree")
        require(not trace.faults, "reached outside of the root:\n" + "\n".join(trace.faults[:5]))

    def look(self, trace: bool = False) -> Outcome:
        """All that only looks; returns the JSON of --check."""
        checked = self.run("--check", "--json", codes=CHECK_CODES)
        require(checked.report["exit_code"] == checked.code, "the report has another exit code")
        self.run("--fix", "--dry-run", "--diff", codes=DRY_RUN_CODES)
        if trace:
            self.run("--check", "--verbose", codes=CHECK_CODES, trace=True)
        return checked


def fingerprint(top: Path) -> dict[str, tuple]:
    seen = {}
    for folder, folders, names in os.walk(top):
        for name in [*folders, *names, "."]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = b""
            if stat.S_ISREG(status.st_mode):
                content = Path(path).read_bytes()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path).encode()
            seen[os.path.relpath(path, top)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return seen


# --- objects that stand where a file or directory is expected

def make_fifo(scene: Scene, path: Path) -> None:
    os.mkfifo(path)


def make_socket(scene: Scene, path: Path) -> None:
    # A socket's name has at most 107 bytes: bound where it is short, then moved.
    short = scene.scratch / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short))
    os.rename(short, path)


def make_zero_device(scene: Scene, path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def make_tty_device(scene: Scene, path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(5, 0))


def make_block_device(scene: Scene, path: Path) -> None:
    os.mknod(path, stat.S_IFBLK | 0o660, os.makedev(7, 250))


def make_directory(scene: Scene, path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("x\n")


def make_file(scene: Scene, path: Path) -> None:
    path.write_text("x\n")


def make_absolute_link(scene: Scene, path: Path) -> None:
    path.symlink_to(scene.outside / path.relative_to(scene.top))


def make_climbing_link(scene: Scene, path: Path) -> None:
    path.symlink_to("../" * 40 + str(scene.outside / path.relative_to(scene.top)).lstrip("/"))


def make_cycle(scene: Scene, path: Path) -> None:
    path.symlink_to(path.name)


def make_dangling_link(scene: Scene, path: Path) -> None:
    path.symlink_to("nowhere/at/all")


def make_sparse(scene: Scene, path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"x = 1\n")
        file.truncate(3 << 30)


OBJECTS: dict[str, Callable[[Scene, Path], None]] = {
    "fifo": make_fifo, "socket": make_socket, "zero-device": make_zero_device, "tty-device": make_tty_device,
    "block-device": make_block_device, "directory": make_directory, "file": make_file,
    "absolute-link": make_absolute_link, "climbing-link": make_climbing_link, "cycle": make_cycle,
    "dangling-link": make_dangling_link, "gigabytes": make_sparse,
}
# What makes a file impossible to look at; a link that leads nowhere in the tree is "not there", which
# some checks rightly pass.
OPAQUE = {"fifo", "socket", "zero-device", "tty-device", "block-device", "directory", "cycle", "gigabytes"}

# Which checks may not pass when a file is opaque.
NEEDS = {
    "usr/lib/os-release": ("guest.supported",),
    "etc/fstab": ("fstab.device-names",),
    "etc/crypttab": ("crypttab.device-names",),
    "etc/lvm/lvm.conf": ("lvm.config", "lvm.devicesfile", "lvm.filter"),
    "etc/lvm/lvmlocal.conf": ("lvm.config", "lvm.devicesfile", "lvm.filter"),
    "etc/dracut.conf.d/zz-nvme.conf": ("dracut.hostonly", "dracut.next-kernel"),
    "usr/lib/dracut/dracut.conf.d/01-dist.conf": ("dracut.hostonly", "dracut.next-kernel"),
    "boot/grub2/grubenv": ("boot.default-entry", "boot.device-names"),
    f"boot/loader/entries/{MACHINE_ID}-{K1}.conf": ("boot.default-entry",),
    f"boot/vmlinuz-{K1}": ("boot.default-entry",),
    f"boot/initramfs-{K1}.img": ("initramfs.readable", "initramfs.driver", "initramfs.blocked", "initramfs.device-names",
                                 "initramfs.lvm-config"),
    "etc/kernel/cmdline": ("boot.device-names",),
    "etc/default/grub": ("boot.device-names",),
    "etc/multipath.conf": ("multipath.claims",),
}
# What is no fault: bash cannot source these as a drop-in, and dracut goes on without it; of a kernel
# its header is enough.
FINE = {("gigabytes", f"boot/vmlinuz-{K1}"),
        *((kind, "usr/lib/dracut/dracut.conf.d/01-dist.conf") for kind in ("socket", "directory", "cycle"))}
# The same for directories.
FOLDER_NEEDS = {
    "boot": ("boot.default-entry", "initramfs.readable"),
    "boot/loader": ("boot.default-entry", "initramfs.readable"),
    "boot/loader/entries": ("boot.default-entry", "initramfs.readable"),
    "etc": ("fstab.device-names", "lvm.devicesfile"),
    "etc/lvm": ("lvm.config", "lvm.devicesfile"),
    "etc/dracut.conf.d": ("dracut.hostonly", "dracut.next-kernel"),
}
FOLDER_OBJECTS = ("fifo", "socket", "zero-device", "file", "absolute-link", "climbing-link", "cycle", "dangling-link")
FOLDER_OPAQUE = {"fifo", "socket", "zero-device", "file", "cycle"}


def full_guest(scene: Scene) -> None:
    """A guest that has everything the tool reads."""
    guest = scene.guest
    guest.write("etc/crypttab", "luks-1 UUID=33333333-3333-4333-8333-333333333333 none discard\n")
    guest.write("etc/lvm/lvmlocal.conf", "local {\n}\n")
    guest.devices_file()
    guest.write("etc/kernel/cmdline", Guest.options() + "\n")
    guest.write("etc/default/grub", f'GRUB_CMDLINE_LINUX="{Guest.options()}"\n')
    guest.write("boot/grub2/grub.cfg", 'set default="${saved_entry}"\nload_env\nblscfg\n')
    guest.write("boot/grub2/device.map", "(hd0) /dev/sda\n")
    guest.write("etc/multipath.conf", "defaults {\n find_multipaths yes\n}\n")
    guest.write("etc/hostname", "guest\n")
    guest.write("boot/efi/EFI/BOOT/BOOTX64.EFI", b"MZ")
    guest.write("etc/udev/rules.d/60-x.rules", "# none\n")
    for unit in ("kdump.service", "multipathd.service"):
        guest.link(f"etc/systemd/system/multi-user.target.wants/{unit}", f"/usr/lib/systemd/system/{unit}")
    guest.write(f"boot/initramfs-{K1}kdump.img", b"x")
    guest.write(f"{STATE}/20260101T000000Z-1/journal", "")
    guest.write(f"usr/lib/modules/{K1}/modules.builtin", "kernel/fs/ext4/ext4.ko\n")
    scene.finish()


ONLY_WARNS = {"multipath.claims"}


def not_passed(outcome: Outcome, checks: tuple[str, ...]) -> None:
    for check in checks:
        require("pass" not in outcome.statuses(check), f"{check} passed, although it could not look")
    if set(checks) - ONLY_WARNS:
        require(outcome.code != 0 and outcome.report["verdict"] != "ready", "ready, although something could not be looked at")


# --- the cases: what is done to a tree of their own, or to one that several share and leave as it was

@dataclass
class Case:
    name: str
    run: Callable[[Scene], None]
    shared: Scene | None = None


def tree_parts(scene: Scene) -> tuple[list[str], list[str]]:
    """Files and folders of the tree that --check opens, by a trace of it."""
    scene.run("--check", codes=CHECK_CODES, trace=True)
    opened = Trace(scene.scratch / "trace", scene.top, scene.lsblk).touched
    files = [name for name in sorted(opened) if scene.path(name).is_file() and not scene.path(name).is_symlink()]
    folders = [name for name in sorted(opened)
               if name not in ("", ".") and scene.path(name).is_dir() and not scene.path(name).is_symlink()]
    return files, folders


def replacement_case(scene: Scene, name: str, kind: str, needs: tuple[str, ...]) -> Case:
    def run(scene: Scene) -> None:
        path, spare = scene.path(name), scene.scratch / "spare"
        os.rename(path, spare)
        try:
            OBJECTS[kind](scene, path)
            not_passed(scene.look(trace=kind in ("absolute-link", "climbing-link")), needs)
        finally:
            scene.clear(name)
            os.rename(spare, path)
    return Case(f"{kind} for {name}", run, scene)


def replacement_cases(scene: Scene, files: list[str], folders: list[str]) -> Iterator[Case]:
    for name in files:
        for kind in OBJECTS:
            if kind != "file":
                yield replacement_case(scene, name, kind, NEEDS.get(name, ()) if kind in OPAQUE and (kind, name) not in FINE else ())
    for name in folders:
        for kind in FOLDER_OBJECTS:
            yield replacement_case(scene, name, kind, FOLDER_NEEDS.get(name, ()) if kind in FOLDER_OPAQUE else ())


def crowd(folder: str, pattern: str, count: int, content: str = "") -> Callable[[Scene], None]:
    """Names of one file: a million of them would take more memory than the tests may."""
    def run(scene: Scene) -> None:
        full_guest(scene)
        top = scene.path(folder)
        top.mkdir(parents=True, exist_ok=True)
        first = top / pattern.format(0)
        first.write_text(content)
        for i in range(1, count):
            os.link(first, top / pattern.format(i))
        scene.look()
        subprocess.run(["rm", "-rf", str(top)], check=True)
    return run


CROWDS = [("etc/dracut.conf.d", "f{}.conf", "add_drivers+=\" x \"\n"), ("boot/loader/entries", "e{}.conf", ""),
          ("etc", "f{}", ""), ("usr/lib/modules", "k{}", ""), ("boot", "initramfs-{}kdump.img", ""),
          ("etc/modprobe.d", "m{}.conf", "blacklist x\n"), (STATE, "2026010{}", ""), ("etc/lvm/profile", "p{}.profile", "")]


def crowd_cases(count: int, folders: list[tuple[str, str, str]]) -> Iterator[Case]:
    for folder, pattern, content in folders:
        yield Case(f"{count} files in {folder}", crowd(folder, pattern, count, content))


def text_case(name: str, path: str, make: Callable[[], bytes], unknown: tuple[str, ...] = ()) -> Case:
    def run(scene: Scene) -> None:
        full_guest(scene)
        scene.clear(path).write_bytes(make())
        not_passed(scene.look(), unknown)
    return Case(name, run)


def nested_lvm(depth: int) -> bytes:
    return b"a{" * depth + b"}" * depth


def lines(pattern: str, count: int) -> bytes:
    return "".join(pattern.format(i) for i in range(count)).encode()


MEBIBYTE = 1 << 20
LVM_CHECKS = ("lvm.config", "lvm.devicesfile")


def fill(line: str, size: int = MEBIBYTE) -> Callable[[], bytes]:
    return lambda: (line.encode() * (size // len(line.encode()) + 1))[:size]


def text_cases() -> Iterator[Case]:
    kernels = ("dracut.next-kernel", "initramfs.driver")
    yield text_case("modules.dep of 10^6 lines", f"usr/lib/modules/{K1}/modules.dep", lambda: lines("{:x}:\n", 10**6), kernels)
    yield text_case("modules.dep of many needs", f"usr/lib/modules/{K1}/modules.dep",
                    lambda: b"".join(b"%x: " % i + lines("{:x} ", 300) + b"\n" for i in range(5000))[:8 * MEBIBYTE - 1], kernels)
    yield text_case("modules.builtin of 10^6 lines", f"usr/lib/modules/{K1}/modules.builtin",
                    lambda: lines("{:x}.ko\n", 10**6)[:8 * MEBIBYTE - 1], kernels)
    for depth in (63, 64, 65, 1000, 262144):
        yield text_case(f"lvm.conf nested {depth} deep", "etc/lvm/lvm.conf", lambda depth=depth: nested_lvm(depth),
                        LVM_CHECKS if depth > 64 else ())
    yield text_case("lvm.conf that only opens", "etc/lvm/lvm.conf", fill("a{"), LVM_CHECKS)
    yield text_case("lvm.conf of one list", "etc/lvm/lvm.conf", lambda: b"devices/filter=[" + b"1," * 520000 + b"1]\n", LVM_CHECKS)
    yield text_case("lvm.conf of a long name", "etc/lvm/lvm.conf",
                    lambda: b"a" * 900000 + b"{" + b"b=1 " * 9000 + b"}\n", LVM_CHECKS)
    yield text_case("lvm.conf of one string", "etc/lvm/lvm.conf", lambda: b'devices/dir="' + b"\\\\" * 520000 + b'"\n')
    yield text_case("lvm.conf of settings", "etc/lvm/lvm.conf", lambda: lines("a{}=1\n", 100000)[:MEBIBYTE])
    yield text_case("lvm.conf of comments", "etc/lvm/lvm.conf", fill("# use_devicesfile = 1\n"))
    yield text_case("fstab of old names", "etc/fstab", fill("/dev/vda2 / xfs\n"), ("fstab.device-names",))
    yield text_case("fstab of UUIDs", "etc/fstab", fill("UUID=a / a\n"), ("fstab.device-names",))
    yield text_case("crypttab of old names", "etc/crypttab", fill("a /dev/vda4\n"), ("crypttab.device-names",))
    yield text_case("devices file of one kind", "etc/lvm/devices/system.devices", fill("IDTYPE=a IDNAME=b\n"))
    yield text_case("cmdline of lines", "etc/kernel/cmdline", fill("a\n"), ("boot.device-names",))
    yield text_case("cmdline of old names", "etc/kernel/cmdline", fill("root=/dev/vda3 "))
    yield text_case("grub defaults of lines", "etc/default/grub", fill("GRUB_CMDLINE_LINUX=\n"), ("boot.device-names",))
    yield text_case("entry of old names", f"boot/loader/entries/{MACHINE_ID}-{K1}.conf",
                    lambda: b"title x\nlinux /vmlinuz\noptions " + fill("root=/dev/vda3 ", 7900)() + b"\n")
    yield text_case("entry that is too large", f"boot/loader/entries/{MACHINE_ID}-{K1}.conf",
                    lambda: b"title x\nlinux /vmlinuz\noptions " + fill("root=/dev/vda3 ", 60000)() + b"\n", ("boot.default-entry",))
    yield text_case("grub.cfg of ifs", "boot/grub2/grub.cfg", fill("if a; then\n"))
    yield text_case("grub.cfg of settings", "boot/grub2/grub.cfg", fill("set a=b\n"))
    yield text_case("os-release of fields", "usr/lib/os-release", lambda: b"ID=rocky\nVERSION_ID=9\n" + lines("a{}=\n", 90000))
    yield text_case("dracut.conf of settings", "etc/dracut.conf", fill("a+=b\n"))
    yield text_case("dracut.conf that doubles", "etc/dracut.conf", fill('a="$a$a$a$ab"\n'))
    yield text_case("multipath.conf of braces", "etc/multipath.conf", fill("defaults{\n"))
    yield text_case("udev rules of old names", "etc/udev/rules.d/60-x.rules", fill('KERNEL=="vd[a-z]"\n', 250000))
    yield text_case("journal of rubbish", f"{STATE}/20260101T000000Z-1/journal", fill("[" * 60 + "\n", 7 * MEBIBYTE))


NASTY = ["new\nline", "esc\x1b[2J\x1b]0;title\x07", "c1\u009b31m", "bidi\u202etxt", "del\x7f", "tab\there", "\udcff\udcfe",
         "-rf", "quote\"'`$(id)", "\\x1b", "a" * 255, " ", "\r", "%s%n", "{}"]


def full_menu(words: str) -> Callable[[Scene], None]:
    """As many entries as are read, each with a command line as long as it may be, of one image."""
    def run(scene: Scene) -> None:
        full_guest(scene)
        for i in range(500):
            scene.guest.write(f"boot/vmlinuz-{i}", b"MZ")
            options = ("options root=/dev/mapper/rl-root " + words * 8000)[:7500]
            scene.guest.write(f"boot/loader/entries/e{i}.conf",
                              f"title x\nversion {i}\nlinux /vmlinuz-{i}\ninitrd /initramfs-{K1}.img\n{options}\n")
        scene.look()
    return run


def listing_case(name: str, change: Callable[[list], list], unknown: bool) -> Case:
    """--lsblk is what somebody else's guest printed."""
    def run(scene: Scene) -> None:
        full_guest(scene)
        scene.clear("etc/fstab").write_bytes(b"".join(b"UUID=u%d /m%d xfs defaults 0 0\n" % (i, i) for i in range(1990)))
        assert scene.lsblk
        listing = json.loads(scene.lsblk.read_text())
        listing["blockdevices"] = change(listing["blockdevices"])
        scene.lsblk.write_text(json.dumps(listing))
        outcome = scene.look()
        require(not unknown or outcome.code != 0, "ready, although the listing could not be read")
    return Case(f"a listing of {name}", run)


def twins(depth: int) -> list:
    devices: list = [{"name": "d", "path": "/dev/d", "type": "dm"}]
    for i in range(depth):
        devices = [{"name": f"{kind}{i}", "path": f"/dev/{kind}{i}", "type": "dm", "children": devices} for kind in "de"]
    return devices


def nested(depth: int) -> list:
    device: dict = {"name": "x", "path": "/dev/x", "type": "lvm"}
    for i in range(depth):
        device = {"name": f"y{i}", "path": f"/dev/y{i}", "type": "lvm", "children": [device]}
    return [device]


def disks(count: int) -> list:
    return [{"name": f"vd{i}", "path": f"/dev/vd{i}", "type": "disk", "uuid": f"u{count - i}", "fstype": "xfs"} for i in range(count)]


def listing_cases() -> Iterator[Case]:
    yield listing_case("4000 disks", lambda devices: devices + disks(4000), False)
    yield listing_case("40000 disks", lambda devices: devices + disks(40000), True)
    yield listing_case("80000 disks", lambda devices: devices + disks(80000), True)
    yield listing_case("disks in disks", lambda devices: devices + nested(50), True)
    yield listing_case("every disk below every other", lambda devices: devices + twins(14), False)
    yield listing_case("300000 mount points", lambda devices: devices + [
        {"name": "vdz", "path": "/dev/vdz", "type": "disk", "mountpoints": [f"/{i}" for i in range(300000)]}], False)
    yield listing_case("names of escapes", lambda devices: devices + [
        {"name": "\x1b[2J", "path": "/dev/\x1b[2J\x9b", "type": "disk", "uuid": "a b\n", "mountpoints": ["/\x1b]0;x\x07"]}], False)


def menu_cases(long: bool) -> Iterator[Case]:
    more = ("a ", "root=/dev/vda3 ", "modprobe.blacklist=x,y ", "resume=/dev/vda3 x ")
    for words in ("rd.lvm.lv=a/b ", *(more if long else ())):
        yield Case(f"500 entries of {words}", full_menu(words))


def nasty_names(scene: Scene) -> None:
    full_guest(scene)
    guest = scene.guest
    for name in NASTY:
        for folder, suffix in (("boot/loader/entries", ".conf"), ("etc/dracut.conf.d", ".conf"), ("etc/nasty", ""),
                               ("usr/lib/modules", ""), (STATE, ""), ("etc/lvm/devices", "")):
            shown = name[:255 - len(suffix)] + suffix
            target = scene.path(folder) / shown
            target.parent.mkdir(parents=True, exist_ok=True)
            if folder in ("usr/lib/modules", STATE):
                target.mkdir(exist_ok=True)
            else:
                target.write_bytes(b"title \x1b[31mred\x1b[0m\nlinux /\x1b]\x07\noptions root=/dev/vda3\x1b[2J \xff\xfe\n"
                                   b"/dev/vda1\x1b[31m \x9b\n")
    guest.write("etc/fstab", b"/dev/vda2\x1b[31m /\x9b xfs\n/dev/vda3 /x\xe2\x80\xae xfs\n")
    guest.write("usr/lib/os-release", b'ID=rocky\nVERSION_ID="9.5"\nPRETTY_NAME="\x1b[2J\x07Rocky"\n')
    scene.look(trace=True)
    scene.run("--runs", codes={0, 3})
    scene.run("--runs", "--json", codes={0, 3})
    scene.run("--undo", codes=UNDO_CODES)


def cycles(scene: Scene) -> None:
    full_guest(scene)
    for name, target in (("etc/loop", "."), ("etc/a", "b"), ("etc/b", "a"), ("boot/boot", "."), ("etc/up", "..")):
        scene.path(name).symlink_to(target)
    deep = scene.path("etc/deep")
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "loop").symlink_to("/etc")
    scene.look(trace=True)


# --- images

def image_case(name: str, make: Callable[[Path], None], unknown: bool = False) -> Case:
    def run(scene: Scene) -> None:
        full_guest(scene)
        make(scene.clear(f"boot/initramfs-{K1}.img"))
        outcome = scene.look()
        if unknown:
            for check in ("initramfs.driver", "initramfs.blocked"):
                statuses = outcome.statuses(check)
                require("pass" not in statuses, f"{check} is {statuses}, although the image could not be read")
            require(outcome.code != 0, "ready, although the image could not be read")
            require("unknown" in outcome.statuses("initramfs.readable") | outcome.statuses("initramfs.driver"),
                    "nothing of the image is unknown")
    return Case(name, run)


def image_cases(long: bool) -> Iterator[Case]:
    for name, make, unknown in archives.odd_images():
        yield image_case(f"image: {name}", make, unknown)
    for compressor in archives.COMPRESSORS:
        size = 5 << 30 if long or compressor == "zstd" else 600 << 20
        yield image_case(f"image: {size >> 20} MiB of {compressor} bombs",
                         lambda path, c=compressor, s=size: archives.write_many_bombs(path, c, s), size > 4 << 30)
        if long or compressor in ("gzip", "zstd", "lz4"):
            size = 5 << 30 if long or compressor == "zstd" else 600 << 20
            yield image_case(f"image: a {compressor} bomb of {size >> 20} MiB",
                             lambda path, c=compressor, s=size: archives.write_bomb(path, c, s), size > 4 << 30)
    yield Case("24 images that fill what may be kept", many_full_images)
    yield Case("24 images and kernels that are full, at once", many_full_guest)
    yield image_case("image: 10^6 files", lambda path: archives.write_image_of_names(path, 10**6), True)
    if long:
        yield image_case("image: 10^7 files", lambda path: archives.write_image_of_names(path, 10**7), True)


def add_full_images(scene: Scene, index: bytes) -> None:
    for i in range(24):
        kernel = f"5.14.0-{600 + i}.el9.x86_64"
        scene.guest.write(f"usr/lib/modules/{kernel}/modules.dep", index)
        scene.guest.write(f"boot/vmlinuz-{kernel}", b"MZ")
        scene.guest.write_entry(kernel)
        archives.write_full_image(scene.path(f"boot/initramfs-{kernel}.img"))


def many_full_images(scene: Scene) -> None:
    full_guest(scene)
    add_full_images(scene, b"")
    outcome = scene.look()
    told = [f["summary"] for f in outcome.report["findings"] if f["check"] == "initramfs.readable" and f["status"] == "warn"]
    require(any("could not be read whole" in text for text in told), "images over the limit are not told")


def many_full_guest(scene: Scene) -> None:
    """Everything that has a bound of its own is at it."""
    full_guest(scene)
    add_full_images(scene, lines("kernel/a/{:x}.ko: kernel/b/c.ko kernel/d/e.ko\n", 5300))
    scene.clear("etc/lvm/lvm.conf").write_bytes(b"devices/filter=[" + b'"a",' * 19000 + b'"a"]\n')
    scene.clear("etc/fstab").write_bytes(b"/dev/vda2 / xfs\n" * 2000)
    scene.clear("etc/crypttab").write_bytes(b"a /dev/vda4\n" * 2000)
    scene.clear("etc/dracut.conf").write_bytes(fill("a+=b\n")())
    scene.clear("etc/default/grub").write_bytes(fill("GRUB_CMDLINE_LINUX=\"root=/dev/vda1\"\n", 3500)())
    require(scene.look().code != 0, "such a guest is no ready one")


# --- links out of the tree while something is changed

OUT_FOLDERS = ["etc", "etc/lvm", "etc/lvm/devices", "etc/dracut.conf.d", "boot", "boot/loader", "boot/loader/entries",
               "boot/grub2", "var", "var/lib", STATE, "usr/lib/modules", "usr/lib/dracut", "usr", "var/tmp", "tmp"]


def broken_guest(scene: Scene) -> None:
    """One that --fix would mend: devices file, host-only image, old names."""
    guest = scene.guest
    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n", "\t# use_devicesfile = 1\n")
    guest.devices_file()
    guest.write("etc/fstab", "/dev/mapper/rl-root / xfs defaults 0 0\n/dev/vda2 /boot xfs defaults 0 0\n")
    guest.stand_in_dracut()
    scene.finish()


def move_out(scene: Scene, name: str, link: Callable[[Scene, Path], None]) -> None:
    """What was there now lies outside, and a link of the tree leads to it."""
    path = scene.path(name)
    target = scene.outside / name
    if target.is_symlink() or target.exists():
        shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.copytree(path, target, symlinks=True) if path.is_dir() else shutil.copy2(path, target)
    link(scene, scene.clear(name))


def fix_case(name: str, kind: str, link: Callable[[Scene, Path], None]) -> Case:
    def run(scene: Scene) -> None:
        broken_guest(scene)
        move_out(scene, name, link)
        before = fingerprint(scene.outside)
        scene.look(trace=True)
        scene.run("--fix", codes=FIX_CODES, trace=False)
        scene.run("--undo", codes=UNDO_CODES)
        require(fingerprint(scene.outside) == before, "something outside of the root has changed")
    return Case(f"--fix with {name} as {kind}", run)


def fix_cases() -> Iterator[Case]:
    files = ["etc/fstab", "etc/lvm/lvm.conf", f"boot/initramfs-{K1}.img", "etc/dracut.conf.d/zz-nvme-preflight.conf",
             "var/lib/nvme-preflight/lock"]
    for name in OUT_FOLDERS + files:
        yield fix_case(name, "an absolute link", make_absolute_link)
        yield fix_case(name, "a climbing link", make_climbing_link)


class Swapper:
    """Swaps directories and files of the tree for links out of it, as fast as it can: at every moment
    the one or the other has the name. A process of its own, so that it never waits for the tests."""

    NAMES = ["etc", "boot", "boot/loader/entries", "etc/lvm", "etc/lvm/lvm.conf", "etc/fstab", "boot/grub2",
             "etc/dracut.conf.d", "usr/lib/modules", "var", "var/lib", STATE, f"boot/initramfs-{K1}.img"]

    def __init__(self, scene: Scene) -> None:
        self.scene, self.swaps = scene, 0

    def __enter__(self) -> Swapper:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", HERE / "swapper.py", self.scene.top, self.scene.outside, *self.NAMES],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.swaps = int(self.process.communicate("")[0])


def race(scene: Scene) -> None:
    full_guest(scene)
    with Swapper(scene) as swapper:
        for i in range(20):
            scene.run("--check", "--json", codes=CHECK_CODES, trace=i % 2 == 0)
            scene.run("--fix", "--dry-run", "--diff", codes=DRY_RUN_CODES, trace=i % 4 == 1)
    require(swapper.swaps > 1000, f"only {swapper.swaps} swaps: no race")
    print(f"  race: {swapper.swaps} swaps during 40 runs")


def race_with_fix(scene: Scene) -> None:
    broken_guest(scene)
    scene.path(STATE).mkdir(parents=True, exist_ok=True)
    before = fingerprint(scene.outside)
    with Swapper(scene) as swapper:
        for _ in range(6):
            scene.run("--fix", codes=FIX_CODES | {6})
            scene.run("--undo", codes=UNDO_CODES)
            scene.run("--runs", codes=CHECK_CODES, trace=True)
    require(fingerprint(scene.outside) == before, "something outside of the root has changed")
    require(swapper.swaps > 1000, f"only {swapper.swaps} swaps: no race")
    print(f"  race with --fix: {swapper.swaps} swaps during 18 runs")


# --- run folders and journals

RUN = "20260101T000000Z-1"


def finished_run(scene: Scene) -> Path:
    """A run of the tool itself; returns its folder."""
    broken_guest(scene)
    require(scene.run("--fix", codes={0}).code == 0, "the guest was not mended")
    return next(scene.path(STATE).glob("*T*Z-*"))


def journal_case(name: str, change: Callable[[Scene, Path], None]) -> Case:
    """`change` spoils a finished run's folder. Nothing of it may reach outside; --undo may refuse."""
    def run(scene: Scene) -> None:
        folder = finished_run(scene)
        change(scene, folder)
        before = fingerprint(scene.outside)
        scene.run("--check", codes=CHECK_CODES, trace=True)
        scene.run("--runs", codes=CHECK_CODES, trace=True)
        scene.run("--runs", "--json", codes=CHECK_CODES)
        for arguments in (("--undo", folder.name), ("--undo", "--force"), ("--fix", "--dry-run", "--diff"), ("--fix",)):
            scene.run(*arguments, codes=FIX_CODES | UNDO_CODES, trace=arguments[0] == "--undo")
        require(fingerprint(scene.outside) == before, "something outside of the root has changed")
    return Case(f"a run with {name}", run)


def in_journal(old: str, new: str) -> Callable[[Scene, Path], None]:
    def change(scene: Scene, folder: Path) -> None:
        text = (folder / "journal").read_text()
        require(old in text, f"the journal has no {old}")
        (folder / "journal").write_text(text.replace(old, new.replace("OUTSIDE", str(scene.outside))))
    return change


def replaced(name: str, make: Callable[[Scene, Path], None]) -> Callable[[Scene, Path], None]:
    def change(scene: Scene, folder: Path) -> None:
        path = folder / name
        target = scene.outside / path.relative_to(scene.top)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(path, target) if path.is_dir() else shutil.copy2(path, target)
        make(scene, scene.clear(str(path.relative_to(scene.top))))
    return change


def append(text: str) -> Callable[[Scene, Path], None]:
    def change(scene: Scene, folder: Path) -> None:
        with (folder / "journal").open("a") as journal:
            journal.write(text)
    return change


def journal_cases() -> Iterator[Case]:
    for new in ("OUTSIDE/etc/fstab", "/../../../../../../OUTSIDE/etc/fstab", "/etc/../../outside/etc/fstab", "etc/fstab", "",
                "/", "//", "/etc/fst\\u001b[2Jab", "/etc/\\ud800", "/etc/fstab\\u0000x", "/etc", "/proc/self/mem", "/" + "a/" * 100000 + "b"):
        yield journal_case(f"the path {new[:40]}", in_journal('"/etc/fstab"', f'"{new}"'))
    for new in ("../../../../../etc/fstab", "/etc/fstab", "..", ".", "", "journal", "backup-2/../../x", "a\\u0000b", "x" * 300):
        yield journal_case(f"the backup {new[:30]}", in_journal('"backup-2"', f'"{new}"'))
    for old, new in (('"mode":420', '"mode":4294967295'), ('"uid":0', '"uid":-1'), ('"size":72', '"size":18446744073709551615'),
                     ('"file":2', '"file":4294967296'), ('"xattrs":[]', '"xattrs":' + "[" * 60000 + "]" * 60000),
                     ('"run":"', '"run":"\\u001b[2J'), ('"boot_id":""', '"boot_id":"' + "x" * 500000 + '"')):
        yield journal_case(f"{new[:40]} for {old}", in_journal(old, new))
    for kind in ("fifo", "socket", "zero-device", "directory", "absolute-link", "climbing-link", "cycle", "dangling-link", "gigabytes"):
        yield journal_case(f"{kind} for its journal", replaced("journal", OBJECTS[kind]))
        yield journal_case(f"{kind} for its backup", replaced("backup-2", OBJECTS[kind]))
        if kind != "directory":
            yield journal_case(f"{kind} for its folder", replaced(".", OBJECTS[kind]))
    directory = '{"event":"directory","path":"/etc/x%d"}\n'
    yield journal_case("10^4 directories", append("".join(directory % i for i in range(10**4))))
    yield journal_case("a megabyte of empty lines", append("\n" * MEBIBYTE))
    yield journal_case("a line of a megabyte", append("[" * MEBIBYTE))
    yield journal_case("a directory outside", append('{"event":"directory","path":"/../../outside/etc"}\n{"event":"state","state":"undoing"}\n'))
    yield journal_case("escapes at its end", append("\x1b[2J\x9b\n"))


def selftest(scene: Scene) -> None:
    """The judge of traces finds what it is there for."""
    full_guest(scene)
    (scene.top / "etc/link").symlink_to(scene.outside / "etc")
    for tool, caught in ((["cat", str(scene.top / "etc/link/fstab")], True),
                         (["cat", str(scene.outside / "etc/fstab")], True),
                         (["cat", str(scene.top / "etc/fstab")], True)):  # by its whole path: links would be followed
        subprocess.run(Trace.command(scene.scratch / "trace") + tool, capture_output=True, check=False)
        faults = Trace(scene.scratch / "trace", scene.top, None).faults
        require(bool(faults) == caught, f"the judge of traces is blind for {tool}")


def scratch_folder() -> str | None:
    """Memory, where there is plenty of it; a million files on a slow disk take many minutes."""
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ or not memory.is_dir():
        return None
    room = os.statvfs(memory)
    return str(memory) if room.f_bavail * room.f_frsize > 4 << 30 and room.f_favail > 1_200_000 else None


def all_cases(options: argparse.Namespace, tally: Tally) -> Iterator[Case]:
    yield Case("the judge of traces", selftest)
    with tempfile.TemporaryDirectory(prefix="hostile-", dir=scratch_folder()) as scratch:
        scene = Scene(Path(scratch), options.tool, tally)
        full_guest(scene)
        files, folders = tree_parts(scene)
        print(f"{len(files)} files and {len(folders)} directories of the tree are read", flush=True)
        yield from replacement_cases(scene, files, folders)
    yield Case("names with newlines and escapes", nasty_names)
    yield Case("cyclic links", cycles)
    yield from text_cases()
    yield from menu_cases(options.long)
    yield from listing_cases()
    yield from image_cases(options.long)
    yield from fix_cases()
    yield from journal_cases()
    yield Case("a racing writer", race)
    yield Case("a racing writer during --fix", race_with_fix)
    yield from crowd_cases(1_000_000 if options.long else 100_000, CROWDS if options.long else CROWDS[1:2])


def run_case(case: Case, options: argparse.Namespace, tally: Tally) -> None:
    before = tally.memory
    with tempfile.TemporaryDirectory(prefix="hostile-", dir=scratch_folder(), ignore_cleanup_errors=True) as scratch:
        try:
            tally.cases += 1
            case.run(case.shared or Scene(Path(scratch), options.tool, tally))
        except Broken as fault:
            tally.failed += 1
            print(f"FAILED {case.name}: {fault}", flush=True)
        except (OSError, ValueError) as error:
            tally.failed += 1
            print(f"FAILED {case.name}: the test itself: {error!r}", flush=True)
    if tally.memory > before:
        tally.memory_case = case.name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    parser.add_argument("--long", action="store_true")
    parser.add_argument("filter", nargs="*")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("strace"):
        return skip("hostile trees need root and strace")
    tally = Tally(Runner())
    for case in all_cases(options, tally):
        if not options.filter or any(part in case.name for part in options.filter):
            run_case(case, options, tally)
    print(f"{tally.cases} hostile trees, {tally.runs} runs ({tally.traced} traced, {tally.opens} opens judged), "
          f"{tally.failed} failed; most memory {tally.memory >> 10} MiB ({tally.memory_case}), "
          f"slowest run {tally.slowest:.1f} s")
    return 1 if tally.failed or not tally.cases else 0


if __name__ == "__main__":
    sys.exit(main())
