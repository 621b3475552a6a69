# SPDX-License-Identifier: MIT
"""Other disks than the base guest's, made from it: its file systems and its PV move as they are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .disk import MIB, Disk, Region
from .recipe import VG, Recipe
from .run import run
from .vm import EXTRA

_BIOS_BOOT = "21686148-6449-6E6F-744E-656564454649"
_ESP = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
_XBOOTLDR = "BC13C2FF-59E6-4262-A352-B275FD6F7172"
_LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
_LVM = "E6D6D379-F507-44C2-A23C-238F2A3DF928"
_LOADER = Path("/usr/lib/systemd/boot/efi/systemd-bootx64.efi")
_ESP_MIB = 64


def _table(image: Path, parts: list[tuple[int, int, str]], sector: int = 512) -> None:
    """A GPT with these (start MiB, size MiB, type)."""
    unit = MIB // sector
    script = "label: gpt\n" + (f"unit: sectors\nsector-size: {sector}\n" if sector != 512 else "") + "".join(
        f"start={start * unit}, size={size * unit}, type={kind}\n" for start, size, kind in parts)
    with tempfile.NamedTemporaryFile("w", suffix=".sfdisk") as file:
        file.write(script)
        file.flush()
        loop = run(["losetup", "--find", "--show", "--sector-size", str(sector), image]).strip()
        try:
            run(["sh", "-c", 'sfdisk --quiet --wipe never "$1" <"$2"', "sh", loop, file.name])
        finally:
            run(["losetup", "--detach", loop])


def _copy_bytes(source: Path, at: int, size: int, target: Path, to: int) -> None:
    run(["dd", "status=none", f"if={source}", f"of={target}", "bs=1M", f"skip={at // MIB}", f"seek={to // MIB}",
         f"count={size // MIB}", "conv=notrunc,sparse"], timeout=300)


def _blank(image: Path, mib: int) -> None:
    with image.open("wb") as file:
        file.truncate(mib * MIB)


def _make_fs(disk: Disk, region: str, uuid: str, tree: Path) -> None:
    part = disk.regions[region]
    run(["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-U", uuid, "-d", tree,
         "-E", f"offset={part.offset},lazy_itable_init=1", disk.image, f"{part.size // 1024}k"], timeout=300)


def _pv_region(base: Disk, recipe: Recipe) -> Region:
    boot = base.regions["boot"]
    return Region(boot.offset + boot.size, recipe.pv_mib * MIB)


def lvm(recipe: Recipe, base: Disk, image: Path) -> Disk:
    """The base guest's own disk."""
    return base.clone(image)


def extra(recipe: Recipe, base: Disk, image: Path) -> Disk:
    """A further partition, vda4, behind the PV."""
    disk = base.clone(image)
    pv = _pv_region(base, recipe)
    end = pv.offset + pv.size
    with image.open("r+b") as file:
        file.truncate(end + 66 * MIB)
    boot = base.regions["boot"]
    _table(image, [(1, 1, _BIOS_BOOT), (boot.offset // MIB, boot.size // MIB, _LINUX),
                   (pv.offset // MIB, pv.size // MIB, _LVM), (end // MIB, 64, _LINUX)])
    return disk


def sector4096(recipe: Recipe, base: Disk, image: Path) -> Disk:
    """The same bytes behind a partition table in sectors of 4096; /home anew, its blocks were of 1024."""
    disk = base.clone(image)
    pv, boot = _pv_region(base, recipe), base.regions["boot"]
    _table(image, [(1, 1, _BIOS_BOOT), (boot.offset // MIB, boot.size // MIB, _LINUX),
                   (pv.offset // MIB, pv.size // MIB, _LVM)], sector=4096)
    with tempfile.TemporaryDirectory(prefix="lab-home-") as empty:
        _make_fs(disk, "home", recipe.lv("home").uuid, Path(empty))
    return disk


def plain(recipe: Recipe, base: Disk, image: Path) -> Disk:
    """No LVM: root is vda3, swap vda4, /home vda5."""
    at = {"boot": 2, "root": 1026, "swap": 3074, "home": 3330}
    size = {"boot": 1024, "root": 2048, "swap": 256, "home": 128}
    _blank(image, 3460)
    _table(image, [(1, 1, _BIOS_BOOT), *((at[name], size[name], _LINUX) for name in at)])
    disk = Disk(image, {name: Region(at[name] * MIB, size[name] * MIB) for name in at})
    for name in ("boot", "root", "swap", "home"):
        part = base.regions[name]
        _copy_bytes(base.image, part.offset, part.size, image, at[name] * MIB)
    root = f"UUID={recipe.lv('root').uuid}"
    swap = f"UUID={recipe.lv('swap').uuid}"
    with disk.mounted() as top:
        for file in (*(top / "boot/loader/entries").iterdir(), top / "etc/kernel/cmdline", top / "etc/default/grub"):
            text = file.read_text().replace(f"root=/dev/mapper/{VG}-root", f"root={root}")
            text = text.replace(f"resume=/dev/mapper/{VG}-swap", f"resume={swap}")
            file.write_text(text.replace(f" rd.lvm.lv={VG}/root rd.lvm.lv={VG}/swap", ""))
        fstab = top / "etc/fstab"
        text = fstab.read_text()
        for lv in recipe.lvs:
            text = text.replace(recipe.spec(lv), f"UUID={lv.uuid}")
        fstab.write_text(text)
        shutil.rmtree(top / "etc/lvm/devices")
    return disk


def uefi(recipe: Recipe, base: Disk, image: Path) -> Disk:
    """An ESP with systemd-boot, /boot a FAT that it reads the same BLS entries from, then the PV."""
    boot_mib = 512
    pv = _pv_region(base, recipe)
    start = 2 + _ESP_MIB + boot_mib
    _blank(image, start + recipe.pv_mib + 2)
    _table(image, [(2, _ESP_MIB, _ESP), (2 + _ESP_MIB, boot_mib, _XBOOTLDR), (start, recipe.pv_mib, _LVM)])
    _copy_bytes(base.image, pv.offset, pv.size, image, start * MIB)
    shift = start * MIB - pv.offset
    regions = {name: Region(part.offset + shift, part.size) for name, part in base.regions.items() if name != "boot"}
    regions |= {"esp": Region(2 * MIB, _ESP_MIB * MIB), "boot": Region((2 + _ESP_MIB) * MIB, boot_mib * MIB)}
    disk = Disk(image, regions)
    _fill_boot(recipe, base, disk)
    return disk


def _fill_boot(recipe: Recipe, base: Disk, disk: Disk) -> None:
    with base.mounted() as old, _root_mounted(disk) as top:
        shutil.copytree(old / "boot", top / "boot", dirs_exist_ok=True, ignore=shutil.ignore_patterns("lost+found"))
        # The firmware starts what is on the disk: the lab's waits have to be there.
        for entry in (top / "boot/loader/entries").iterdir():
            lines = entry.read_text().splitlines()
            entry.write_text("".join(f"{line} {EXTRA}\n" if line.startswith("options ") else f"{line}\n"
                                     for line in lines))
        fstab = top / "etc/fstab"
        fstab.write_text(fstab.read_text().replace(f"UUID={recipe.boot.uuid} /boot ext4", "UUID=B0B0-B0B0 /boot vfat")
                         + "UUID=E5E5-E5E5 /boot/efi vfat defaults 0 0\n")
        esp = top / "boot/efi"
        for place in ("EFI/BOOT/BOOTX64.EFI", "EFI/rocky/shimx64.efi"):
            (esp / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_LOADER, esp / place)
        (esp / "loader").mkdir()
        kernel = next((top / "usr/lib/modules").iterdir()).name
        (esp / "loader/loader.conf").write_text(f"timeout 0\ndefault {recipe.machine_id}-{kernel}.conf\n")
        fill_fats(disk, top / "boot")


@contextmanager
def _root_mounted(disk: Disk) -> Iterator[Path]:
    """Root, with a tmpfs at /boot: the build machine's kernel may not know FAT."""
    part = disk.regions["root"]
    with tempfile.TemporaryDirectory(prefix="lab-mount-") as top:
        run(["mount", "-o", f"loop,offset={part.offset},sizelimit={part.size}", disk.image, top])
        try:
            run(["mount", "-t", "tmpfs", "none", f"{top}/boot"])
            try:
                yield Path(top)
            finally:
                run(["umount", f"{top}/boot"])
        finally:
            run(["umount", top])


def fill_fats(disk: Disk, boot: Path) -> None:
    """/boot and the ESP of the disk, anew from the tree."""
    for name, serial, top, skip in (("boot", "B0B0B0B0", boot, "efi"), ("esp", "E5E5E5E5", boot / "efi", "")):
        part = disk.regions[name]
        run(["mkfs.vfat", "-F", "16", "-i", serial, "--offset", str(part.offset // 512), disk.image,
             str(part.size // 1024)])
        items = [item for item in sorted(top.iterdir()) if item.name != skip]
        run(["mcopy", "-s", "-Q", "-i", f"{disk.image}@@{part.offset}", *items, "::/"], timeout=120)


@contextmanager
def mounted(disk: Disk) -> Iterator[Path]:
    """The whole tree of a guest that is off, for editing."""
    if "esp" not in disk.regions:
        with disk.mounted() as top:
            yield top
        return
    with _root_mounted(disk) as top:
        boot = top / "boot"
        for name, into in (("boot", boot), ("esp", boot / "efi")):
            into.mkdir(exist_ok=True)
            run(["mcopy", "-s", "-m", "-i", f"{disk.image}@@{disk.regions[name].offset}", "::/*", into], timeout=120)
        yield top
        fill_fats(disk, boot)


LAYOUTS: dict[str, Callable[[Recipe, Disk, Path], Disk]] = {
    "lvm": lvm, "extra": extra, "sector4096": sector4096, "plain": plain, "uefi": uefi}
