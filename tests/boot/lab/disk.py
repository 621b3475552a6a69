# SPDX-License-Identifier: MIT
"""The guest's disk, made and reached without device-mapper.

A linear LV is one run of bytes of the disk, so mke2fs, debugfs and mount can each be given an offset.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from .recipe import VG, Recipe
from .run import LabError, run

MIB = 1 << 20
_BOOT_AT = 2 * MIB          # behind the GPT and the BIOS boot partition
_PE_START = 1 * MIB         # LVM's defaults, given all the same: the offsets rest on them
_EXTENT = 4 * MIB
_BIOS_BOOT = "21686148-6449-6E6F-744E-656564454649"
_LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
_LVM = "E6D6D379-F507-44C2-A23C-238F2A3DF928"


@dataclass(frozen=True)
class Region:
    offset: int
    size: int


@dataclass(frozen=True)
class Disk:
    """A raw image and where its file systems lie."""

    image: Path
    regions: dict[str, Region]      # boot, and each LV by name

    @classmethod
    def load(cls, image: Path, layout: Path) -> Disk:
        return cls(image, {name: Region(**region) for name, region in json.loads(layout.read_text()).items()})

    def save_layout(self, layout: Path) -> None:
        layout.write_text(json.dumps({name: asdict(region) for name, region in self.regions.items()}))

    def clone(self, image: Path) -> Disk:
        """A private copy: the base is never written to."""
        run(["cp", "--sparse=always", "--reflink=auto", self.image, image], timeout=300)
        return Disk(image, self.regions)

    def _debugfs(self, region: str, request: str) -> str:
        return run(["debugfs", "-R", request, f"{self.image}?offset={self.regions[region].offset}"])

    def list_boot(self, directory: str) -> list[str]:
        """Names in a directory of /boot."""
        rows = (row.split("/") for row in self._debugfs("boot", f'ls -p "{directory}"').splitlines())
        return [row[5] for row in rows if len(row) > 5 and row[5] not in (".", "..")]

    def read_boot(self, path: str, to: Path) -> Path:
        """Copy a file of /boot out. Like GRUB, debugfs reads what is on the disk and replays no journal."""
        to.unlink(missing_ok=True)
        self._debugfs("boot", f'dump "{path}" "{to}"')
        if not to.exists() or to.stat().st_size == 0:
            raise LabError(f"{path}: not in the guest's /boot")
        return to

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """The guest's tree (/, /boot, /home) mounted for editing; the guest must not be running."""
        with tempfile.TemporaryDirectory(prefix="lab-mount-") as top:
            mounts: list[Path] = []
            try:
                for region, at in (("root", ""), ("boot", "boot"), ("home", "home")):
                    where = Path(top) / at
                    part = self.regions[region]
                    run(["mount", "-o", f"loop,offset={part.offset},sizelimit={part.size}", self.image, where])
                    mounts.append(where)
                yield Path(top)
            finally:
                for where in reversed(mounts):
                    run(["umount", where])


def create(recipe: Recipe, tree: Path, image: Path) -> Disk:
    """Partition, make the VG, and fill the file systems from the tree."""
    pv = Region(_BOOT_AT + recipe.boot.mib * MIB, recipe.pv_mib * MIB)
    with image.open("wb") as file:
        file.truncate(pv.offset + pv.size + 2 * MIB)
    table = (f"label: gpt\nstart=1MiB, size=1MiB, type={_BIOS_BOOT}\n"
             f"start=2MiB, size={recipe.boot.mib}MiB, type={_LINUX}\n"
             f"start={pv.offset // MIB}MiB, size={recipe.pv_mib}MiB, type={_LVM}\n")
    with tempfile.NamedTemporaryFile("w", suffix=".sfdisk") as script:
        script.write(table)
        script.flush()
        run(["sh", "-c", 'sfdisk --quiet "$1" <"$2"', "sh", image, script.name])

    disk = Disk(image, {"boot": Region(_BOOT_AT, recipe.boot.mib * MIB), **_make_vg(recipe, image, pv)})

    # /boot and /home are file systems of their own: in the root tree only their mount points stay.
    with tempfile.TemporaryDirectory(prefix="lab-split-", dir=tree.parent) as aside:
        for name, uuid in (("boot", recipe.boot.uuid), ("home", recipe.lv("home").uuid)):
            part = Path(aside) / name
            (tree / name).rename(part)
            (tree / name).mkdir(mode=0o755)
            _make_ext4(disk, name, uuid, part)
        _make_ext4(disk, "root", recipe.lv("root").uuid, tree)
    _make_swap(disk, recipe.lv("swap").uuid)
    return disk


def _make_ext4(disk: Disk, region: str, uuid: str, tree: Path) -> None:
    part = disk.regions[region]
    run(["mke2fs", "-q", "-F", "-t", "ext4", "-U", uuid, "-d", tree, "-E", f"offset={part.offset},lazy_itable_init=1",
         disk.image, f"{part.size // 1024}k"], timeout=300)


def _make_swap(disk: Disk, uuid: str) -> None:
    part = disk.regions["swap"]
    with tempfile.NamedTemporaryFile(suffix=".swap") as swap, disk.image.open("r+b") as image:
        os.truncate(swap.name, part.size)
        run(["mkswap", "-q", "-U", uuid, swap.name])
        image.seek(part.offset)
        image.write(Path(swap.name).open("rb").read(4096))  # the whole header


def _make_vg(recipe: Recipe, image: Path, pv: Region) -> dict[str, Region]:
    with tempfile.TemporaryDirectory(prefix="lab-lvm-") as system_dir:
        loop = run(["losetup", "--find", "--show", "--offset", str(pv.offset), "--sizelimit", str(pv.size), image]).strip()
        # LVM must see this loop device and nothing else of the machine, and leave nothing in its /etc/lvm.
        config = (f'devices{{use_devicesfile=0 scan=["/dev"] filter=["a|^{loop}$|","r|.*|"]}} '
                  "activation{udev_sync=0 udev_rules=0} backup{backup=0 archive=0}")
        env = {**os.environ, "LVM_SYSTEM_DIR": system_dir, "LVM_SUPPRESS_FD_WARNINGS": "1"}

        def lvm(*argv: str) -> str:
            return run(["lvm", argv[0], "--config", config, *argv[1:]], env=env)

        try:
            lvm("pvcreate", "--driverloaded", "n", "--dataalignment", f"{_PE_START}b", loop)
            lvm("vgcreate", "--driverloaded", "n", "-s", f"{_EXTENT}b", VG, loop)
            for lv in recipe.lvs:
                lvm("lvcreate", "--driverloaded", "n", "-an", "-Zn", "-Wn", "-L", f"{lv.mib}m", "-n", lv.name, VG)
            rows = lvm("lvs", "--driverloaded", "n", "--noheadings", "--nosuffix", "--units", "b", "--separator", "|",
                       "-o", "lv_name,lv_size,seg_pe_ranges", VG).split()
        finally:
            run(["losetup", "--detach", loop])
    regions: dict[str, Region] = {}
    for row in rows:
        name, size, ranges = row.split("|")
        first = int(ranges.rsplit(":", 1)[1].split("-")[0])
        regions[name] = Region(pv.offset + _PE_START + first * _EXTENT, int(size))
    return regions
