# SPDX-License-Identifier: MIT
"""The images that are measured on: of this machine's own dracut, in every packing. They are kept in a cache, keyed by
what made them."""

from __future__ import annotations

import inspect
import os
import random
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "boot")]
from guest import K1, K2, Image  # noqa: E402
from lab import base  # noqa: E402
from lab.run import run  # noqa: E402

K3 = "5.14.0-570.el9.x86_64"
KERNELS = (K1, K2, K3)
MICROCODE = 3 << 20
BUILD_LIMIT = 3600
# What a virtio guest has loaded, and nvme as --fix forces it in: --hostonly alone asks the machine it runs on.
GUEST_DRIVERS = "virtio_blk virtio_pci virtio_net virtio_scsi nvme xfs ext4 dm_mod dm_mirror sd_mod ahci"


@dataclass(frozen=True)
class Packing:
    """A compressor: how dracut calls it but for the level, and how it is only run through."""

    name: str
    pack: str
    test: str        # of its own member
    to_stdout: str


PACKINGS = {packing.name: packing for packing in (
    Packing("gzip", "gzip -n -9", "gzip -t", "gzip -dc"),
    Packing("xz", "xz --check=crc32 --lzma2=dict=1MiB -T0", "xz -t", "xz -dc"),
    Packing("zstd", "zstd -19 -q -T0", "zstd -q -t", "zstd -q -dc"),
    Packing("lz4", "lz4 -q -l -9", "lz4 -q -t", "lz4 -q -dc"),
    Packing("none", "cat", "cat", "cat"))}


@dataclass(frozen=True)
class Images:
    """generic and hostonly, packed in each way."""

    folder: Path

    def member(self, what: str, packing: str) -> Path:
        return self.folder / f"{what}.{packing}"

    def write(self, what: str, packing: str, kernel: str, target: Path, copies: int = 1) -> None:
        """As it lies in /boot: behind a microcode segment, which has what _early() says besides."""
        with target.open("wb") as image:
            image.write((self.folder / f"early-{kernel}.cpio").read_bytes())
            for _ in range(copies):
                with self.member(what, packing).open("rb") as source:
                    shutil.copyfileobj(source, image)

    def module_indexes(self) -> Path | None:
        path = self.folder / "indexes"
        return path if path.exists() else None


def cache_dir() -> Path:
    return Path(os.environ.get("NVME_PREFLIGHT_BENCH_CACHE", "/var/cache/nvme-preflight-bench"))


def machine_kernel() -> str | None:
    found = sorted(path.parent.name for path in Path("/lib/modules").glob("*/modules.dep"))
    return found[-1] if found else None


def _pack(folder: Path, what: str, plain: Path) -> None:
    for packing in PACKINGS.values():
        run(["sh", "-c", f'{packing.pack} <"$1" >"$2"', "sh", plain, folder / f"{what}.{packing.name}"],
            timeout=BUILD_LIMIT)
    plain.unlink()


def _early(folder: Path, size: int) -> None:
    """One image serves all kernels, for packing takes minutes: it has the modules of K1. A host-only image of a machine
    without LVs has no lvm program."""
    for kernel in KERNELS:
        image = Image()
        image.files, image.links, image.compressor = {"usr/lib/modules": None}, {}, None
        image.put("kernel/x86/microcode/GenuineIntel.bin", random.Random(7).randbytes(size))
        image.put("usr/sbin/lvm", b"\x7fELF lvm")
        if kernel != K1:
            image.links[f"usr/lib/modules/{kernel}"] = K1
        image.write(folder / f"early-{kernel}.cpio")


def _dracut(modules: Path, plain: Path, *options: str) -> None:
    """With the machine's own modules under an EL kernel's name, and none of the machine's configuration."""
    empty = plain.parent / "no-configuration"
    empty.mkdir(exist_ok=True)
    run(["dracut", "--force", "--conf", "/dev/null", "--confdir", empty, "--no-early-microcode", "--no-compress",
         *options, "--kmoddir", modules, plain, modules.name], timeout=BUILD_LIMIT)


def _build_real(folder: Path) -> None:
    _early(folder, MICROCODE)
    modules = folder / "lib/modules" / K1
    shutil.copytree(Path("/lib/modules") / str(machine_kernel()), modules, symlinks=True)
    for what, options in (("generic", ["--no-hostonly"]), ("hostonly", ["--hostonly", "--drivers", GUEST_DRIVERS])):
        _dracut(modules, folder / "plain", *options)
        _pack(folder, what, folder / "plain")
    (folder / "indexes").mkdir()
    for name in ("modules.dep", "modules.builtin"):
        shutil.copy2(modules / name, folder / "indexes" / name)
    shutil.rmtree(folder / "lib")


def _build_tiny(folder: Path) -> None:
    """For the test of this benchmark: the images of the case guests, which take no time."""
    _early(folder, 3000)
    for what in ("generic", "hostonly"):
        image = Image(K1)
        image.compressor = None
        image.write(folder / "plain")
        _pack(folder, what, folder / "plain")


def images(cache: Path, tiny: bool) -> Images:
    kind = "tiny" if tiny else "images"
    key = base.digest(inspect.getsource(sys.modules[__name__]).encode(), b"" if tiny else str(machine_kernel()).encode())
    with base.locked(cache):
        return Images(base.cached(cache, kind, key, _build_tiny if tiny else _build_real))
