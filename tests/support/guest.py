# SPDX-License-Identifier: MIT
"""Builds small guest trees: a Rocky Linux 9 guest with one kernel, to be changed by each case.

The images are packed by cpio(1) and the usual compressors, not by code of ours, so that the reader
under test meets what other people's tools write.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from kmod_index import alias_index, dependencies_index

K1 = "5.14.0-500.el9.x86_64"
K2 = "5.14.0-503.el9.x86_64"
MACHINE_ID = "0123456789abcdef0123456789abcdef"
ROOT_UUID = "11111111-1111-4111-8111-111111111111"
BOOT_UUID = "22222222-2222-4222-8222-222222222222"
SWAP_UUID = "33333333-3333-4333-8333-333333333333"
PV_UUID = "AbCdEf-0123-4567-89ab-cdef-0123-456789"
MTIME = 1_700_000_000  # every file's, so that a changed mtime is seen

NVME_ALIAS = "alias pci:v*d*sv*sd*bc01sc08i02* nvme"
VIRTIO_ALIAS = "alias virtio:d00000002v* virtio_blk"

# What the drivers of the case guests need, as EL 9.5's modules.dep has it.
MODULES = {
    "kernel/drivers/nvme/host/nvme.ko.xz": [
        "kernel/drivers/nvme/host/nvme-core.ko.xz",
        "kernel/drivers/nvme/common/nvme-auth.ko.xz",
        "kernel/block/t10-pi.ko.xz",
    ],
    "kernel/drivers/nvme/host/nvme-core.ko.xz": [
        "kernel/drivers/nvme/common/nvme-auth.ko.xz",
        "kernel/block/t10-pi.ko.xz",
    ],
    "kernel/drivers/nvme/common/nvme-auth.ko.xz": [],
    "kernel/block/t10-pi.ko.xz": [],
    "kernel/drivers/block/virtio_blk.ko.xz": [],
    "kernel/drivers/md/dm-mod.ko.xz": [],
    "kernel/fs/xfs/xfs.ko.xz": [],
}
# The indexes that kmod reads, and what makes each of its text.
BINARY_INDEXES = {"modules.dep": dependencies_index, "modules.alias": alias_index}
OTHER_INDEXES = ("modules.builtin.bin", "modules.softdep", "modules.symbols.bin")


class Image:
    """Files of one initramfs, packed when it is written."""

    def __init__(self, kernel: str = K1, hostonly: bool = False) -> None:
        self.files: dict[str, bytes | None] = {}  # None: a directory
        self.links: dict[str, str] = {"lib": "usr/lib", "sbin": "usr/sbin", "bin": "usr/bin"}
        self.kernel = kernel
        self.compressor = ["gzip", "-1n"]
        self.early: dict[str, bytes] = {}
        self.put("usr/sbin/lvm", b"\x7fELF lvm")
        self.put("usr/lib/systemd/systemd", b"\x7fELF systemd")
        self.put("usr/lib/udev/rules.d/80-drivers.rules", b'ENV{MODALIAS}=="?*", RUN{builtin}+="kmod load"\n')
        self.put("usr/lib/initrd-release", b'NAME="Rocky Linux"\n')
        self.put("usr/lib/dracut/build-parameter.txt", b"--kver " + kernel.encode() + b" -f")
        wanted = [m for m in MODULES if not (hostonly and "nvme" in m)]
        self.modules(wanted)

    @property
    def module_dir(self) -> str:
        return f"usr/lib/modules/{self.kernel}"

    def put(self, name: str, content: bytes | str) -> None:
        self.files[name] = content.encode() if isinstance(content, str) else content

    def drop(self, *names: str) -> None:
        for name in names:
            del self.files[name]

    def module(self, path: str) -> str:
        return f"{self.module_dir}/{path}"

    def drop_module(self, path: str) -> None:
        """The file alone goes; the indexes still name it, as a hand-made image would have it."""
        self.drop(self.module(path))

    def modules(self, paths: list[str], builtin: str = "") -> None:
        for path in paths:
            self.put(self.module(path), b"\xfd7zXZ module " + path.encode())
        dep = "".join(
            f"{p}: {' '.join(d for d in MODULES[p])}".rstrip() + "\n" for p in paths)
        aliases = [NVME_ALIAS] if any(p.endswith("/nvme.ko.xz") for p in paths) else []
        aliases += [VIRTIO_ALIAS] if any("virtio_blk" in p for p in paths) else []
        self.put(self.module("modules.dep"), dep)
        self.put(self.module("modules.alias"), "# Aliases\n" + "\n".join(aliases) + "\n")
        self.put(self.module("modules.builtin"), builtin)
        for name in OTHER_INDEXES:
            self.put(self.module(name), b"")
        self.depmod()

    def depmod(self) -> None:
        """Makes the binary indexes anew; for after a change of the text."""
        for name, make in BINARY_INDEXES.items():
            self.put(self.module(name + ".bin"), make(self.files[self.module(name)].decode()))

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        early = _cpio(self.early, {}) if self.early else b""
        main = _cpio(self.files, self.links)
        if self.compressor:
            main = subprocess.run(self.compressor, input=main, capture_output=True, check=True).stdout
        path.write_bytes(early + main)


def _cpio(files: dict[str, bytes | None], links: dict[str, str]) -> bytes:
    """A newc archive by cpio(1), parents before children."""
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        for name, content in files.items():
            target = top / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                target.mkdir(exist_ok=True)
            else:
                target.write_bytes(content)
        for name, target_name in links.items():
            (top / name).symlink_to(target_name)
        names = sorted(str(p.relative_to(top)) for p in top.rglob("*"))
        return subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet", "--reproducible"], cwd=top,
            input="\n".join(names).encode(), capture_output=True, check=True).stdout


class Guest:
    """A guest tree on disk. Cases change it with plain file writes."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.images: dict[str, Image] = {}
        self.kernels: list[str] = []
        self.lsblk: dict | None = None
        self._base()

    def path(self, name: str) -> Path:
        return self.top / name.lstrip("/")

    def write(self, name: str, content: str | bytes, mode: int = 0o644) -> None:
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def read(self, name: str) -> str:
        return self.path(name).read_text()

    def become_el8(self) -> None:
        self.write("usr/lib/os-release",
                   'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"\n'
                   'PRETTY_NAME="Rocky Linux 8.10 (Green Obsidian)"\n')

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        assert old in text, f"{name} has no {old!r}"
        self.write(name, text.replace(old, new))

    def remove(self, name: str) -> None:
        target = self.path(name)
        shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()

    def link(self, name: str, target: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).symlink_to(target)

    def _base(self) -> None:
        self.top.mkdir(parents=True, exist_ok=True)
        for folder in ("usr/lib", "usr/bin", "usr/sbin", "etc", "boot", "var/tmp", "var/lib", "dev", "proc", "sys",
                       "run", "tmp"):
            self.path(folder).mkdir(parents=True, exist_ok=True)
        for name in ("lib", "bin", "sbin"):
            self.link(name, f"usr/{name}")
        self.write("usr/lib/os-release",
                   'NAME="Rocky Linux"\nVERSION="9.5 (Blue Onyx)"\nID="rocky"\n'
                   'ID_LIKE="rhel centos fedora"\nVERSION_ID="9.5"\n'
                   'PRETTY_NAME="Rocky Linux 9.5 (Blue Onyx)"\n')
        self.link("etc/os-release", "../usr/lib/os-release")
        self.write("etc/machine-id", MACHINE_ID + "\n")
        self.write("usr/lib/dracut/dracut.conf.d/01-dist.conf",
                   "# Dracut configuration of the distribution\n"
                   'hostonly="yes"\nhostonly_cmdline="no"\n'
                   'early_microcode="yes"\nreproducible="yes"\n')
        self.write("etc/dracut.conf", "# PUT YOUR CONFIG IN separate files\n")
        self.write("etc/dracut.conf.d/zz-nvme.conf",
                   'hostonly="no"\nadd_drivers+=" nvme nvme_core "\n')
        self.write("etc/lvm/lvm.conf",
                   "config {\n\tchecks = 1\n}\n\ndevices {\n\tdir = \"/dev\"\n"
                   "\tuse_devicesfile = 0\n\tscan = [ \"/dev\" ]\n}\n\nactivation {\n\tchecks = 0\n}\n")
        self.write("usr/sbin/lvm", b"\x7fELF lvm 2.03.24(2) (2024-05-16)\0")
        self.write("etc/fstab",
                   "/dev/mapper/rl-root     /       xfs     defaults        0 0\n"
                   f"UUID={BOOT_UUID} /boot   xfs     defaults        0 0\n"
                   "/dev/mapper/rl-swap     none    swap    defaults        0 0\n")
        self.write("boot/grub2/grubenv", grubenv(saved_entry=f"{MACHINE_ID}-{K1}"))
        self.add_kernel(K1)
        self.lsblk = default_lsblk()

    def add_kernel(self, kernel: str, image: Image | None = None, options: str | None = None) -> Image:
        """Module directory, kernel, entry and image of one kernel."""
        modules = f"usr/lib/modules/{kernel}"
        dep = "".join(f"{p}: {' '.join(d)}".rstrip() + "\n" for p, d in MODULES.items())
        self.write(f"{modules}/modules.dep", dep)
        self.write(f"{modules}/modules.builtin", "kernel/fs/ext4/ext4.ko\n")
        self.write(f"boot/vmlinuz-{kernel}", b"MZ kernel " + kernel.encode(), 0o755)
        self.write_entry(kernel, options)
        self.kernels.append(kernel)
        self.images[kernel] = image or Image(kernel)
        return self.images[kernel]

    def write_entry(self, kernel: str, options: str | None = None) -> None:
        options = options if options is not None else self.options()
        self.write(f"boot/loader/entries/{MACHINE_ID}-{kernel}.conf",
                   f"title Rocky Linux ({kernel}) 9.5 (Blue Onyx)\nversion {kernel}\n"
                   f"linux /vmlinuz-{kernel}\ninitrd /initramfs-{kernel}.img\noptions {options}\n"
                   "grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class rocky\n")

    @staticmethod
    def options() -> str:
        return ("root=/dev/mapper/rl-root ro crashkernel=1G-4G:192M resume=/dev/mapper/rl-swap "
                "rd.lvm.lv=rl/root rd.lvm.lv=rl/swap")

    def default(self, kernel: str) -> None:
        self.write("boot/grub2/grubenv", grubenv(saved_entry=f"{MACHINE_ID}-{kernel}"))

    def image(self, kernel: str = K1) -> Image:
        return self.images[kernel]

    def devices_file(self, *entries: str) -> None:
        """system.devices as lvm2 2.03.23 writes it; without entries one sys_serial for the PV."""
        pvid = PV_UUID.replace("-", "")
        lines = entries or (
            f"IDTYPE=sys_serial IDNAME=BHYVE-1234-5678-9ABC DEVNAME=/dev/vda3 PVID={pvid} PART=3",)
        self.write("etc/lvm/devices/system.devices",
                   "# LVM uses devices listed in this file.\n"
                   "# Created by LVM command lvmdevices pid 1234 at Mon Jan  1 00:00:00 2024\n"
                   "PRODUCT_UUID=4c4c4544-0000-2010-8020-80c04f202020\nVERSION=1.1.1\n"
                   + "".join(line + "\n" for line in lines), 0o600)

    def stand_in_dracut(self) -> None:
        """A dracut that reads its configuration as dracut does and installs a ready-made image:
        the generic one, or the host-only one when hostonly="yes" and nvme is not forced."""
        shutil.copy2("/bin/busybox", self.path("usr/bin/busybox"))
        for name in ("sh", "cp", "ls", "sort"):
            self.link(f"usr/bin/{name}", "busybox")
        for kernel in self.kernels:
            for kind, hostonly in (("generic", False), ("hostonly", True)):
                Image(kernel, hostonly).write(self.path(f"usr/share/stand-in/{kind}-{kernel}.img"))
        self.write("usr/bin/dracut", (Path(__file__).parent / "stand_in_dracut.sh").read_text(), 0o755)

    def finish(self) -> None:
        """Packs the images and gives every file one mtime."""
        for kernel, image in self.images.items():
            image.write(self.path(f"boot/initramfs-{kernel}.img"))
        for folder, _, names in os.walk(self.top, topdown=False):
            for name in names:
                os.utime(os.path.join(folder, name), (MTIME, MTIME), follow_symlinks=False)
            os.utime(folder, (MTIME, MTIME))


def grubenv(**variables: str) -> bytes:
    text = "# GRUB Environment Block\n" + "".join(f"{k}={v}\n" for k, v in variables.items())
    return text.encode().ljust(1024, b"#")


def node(name: str, kind: str, **columns: object) -> dict:
    """One lsblk node with the columns that `lsblk --json --bytes --output-all` always prints."""
    base: dict = {"name": name, "kname": name, "path": f"/dev/{name}", "type": kind, "fstype": None,
                  "uuid": None, "label": None, "partuuid": None, "partlabel": None, "serial": None,
                  "tran": None, "log-sec": 512, "mountpoint": None, "mountpoints": [None]}
    base.update(columns)
    if columns.get("mountpoint"):
        base["mountpoints"] = [columns["mountpoint"]]
    return base


def lv(name: str, number: int, **columns: object) -> dict:
    return node(name, "lvm", kname=f"dm-{number}", path=f"/dev/mapper/{name}", **columns)


def default_lsblk() -> dict:
    root = lv("rl-root", 0, fstype="xfs", uuid=ROOT_UUID, mountpoint="/")
    swap = lv("rl-swap", 1, fstype="swap", uuid=SWAP_UUID, mountpoint="[SWAP]")
    pv = node("vda3", "part", fstype="LVM2_member", uuid=PV_UUID, children=[root, swap],
              partuuid="44444444-0003")
    boot = node("vda2", "part", fstype="xfs", uuid=BOOT_UUID, mountpoint="/boot",
                partuuid="44444444-0002")
    esp = node("vda1", "part", fstype="vfat", uuid="ABCD-1234", mountpoint="/boot/efi",
               partuuid="44444444-0001")
    disk = node("vda", "disk", tran="virtio", serial="BHYVE-1234-5678-9ABC",
                children=[esp, boot, pv])
    return {"blockdevices": [disk]}


def write_lsblk(guest: Guest, path: Path) -> Path | None:
    if guest.lsblk is None:
        return None
    path.write_text(json.dumps(guest.lsblk, indent=1))
    return path
