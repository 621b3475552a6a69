# SPDX-License-Identifier: MIT
"""A guest whose own dracut --fix has to run: the boot lab's tree of Debian 12, dressed as EL 9, with so many kernels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from guests import Tree
from images import base, run
from guest import Image, default_lsblk, node
from lab import rootfs
from lab.recipe import EL9

_CHROOT = ('for d in proc sys dev; do mount --rbind "/$d" "$1/$d"; done; root=$1; shift; '
           'for kernel; do chroot "$root" dracut --force "/boot/bench-$kernel.img" "$kernel"; done')


def make(top: Path, count: int, say: Callable[[str], None]) -> tuple[Tree, list[str]]:
    """The guest and its kernels. Its images are host-only ones without nvme."""
    base.check_machine()
    plain = base.shared(*base.plain_tree(EL9, top, say))
    root = top / "root"
    run(["cp", "-a", plain / "tree", root], timeout=900)
    rootfs.dress(EL9, root)
    kernels = _add_kernels(root, count)
    lsblk = top / "lsblk.json"
    lsblk.write_text(json.dumps(_listing()))
    return Tree(root, lsblk), kernels


def _add_kernels(root: Path, count: int) -> list[str]:
    first = rootfs.kernel_version(root)
    entry = root / f"boot/loader/entries/{EL9.machine_id}-{first}.conf"
    (root / f"boot/loader/entries/{EL9.machine_id}-0-rescue.conf").unlink()
    kernels = [first, *(f"{first}.{n}" for n in range(2, count + 1))]
    for kernel in kernels:
        if kernel != first:
            modules = root / "usr/lib/modules"
            run(["cp", "-al", modules / first, modules / kernel], timeout=300)
            shutil.copy2(root / f"boot/vmlinuz-{first}", root / f"boot/vmlinuz-{kernel}")
            shutil.copy2(root / f"boot/config-{first}", root / f"boot/config-{kernel}")
            (entry.parent / f"{EL9.machine_id}-{kernel}.conf").write_text(entry.read_text().replace(first, kernel))
        Image(kernel, hostonly=True).write(root / f"boot/initramfs-{kernel}.img")
    return kernels


def _listing() -> dict:
    listing = default_lsblk()
    disk = listing["blockdevices"][0]
    volumes = disk["children"][2]["children"]
    volumes.append(node("rl-home", "lvm", kname="dm-2", path="/dev/mapper/rl-home", fstype="ext4",
                        uuid=EL9.lv("home").uuid, mountpoint="/home"))
    disk["children"][1]["uuid"] = EL9.boot.uuid
    return listing


def dracut_in_sequence(tree: Tree, kernels: list[str]) -> list[str | Path]:
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _CHROOT, "sh", tree.top, *kernels]
