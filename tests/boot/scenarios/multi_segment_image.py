# SPDX-License-Identifier: MIT
"""Microcode in front, a compressed archive without the nvme modules, and a second one that brings them."""
import tempfile
from pathlib import Path

from lab.image import pack, plain_cpio, unpack
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    with tempfile.TemporaryDirectory(prefix="lab-segments-") as top, tempfile.TemporaryDirectory() as aside:
        unpack(tree.image, Path(top))
        modules = [path for path in (Path(top) / "usr/lib/modules").rglob("nvme*.ko*")]
        for module in modules:
            to = Path(aside) / module.relative_to(top)
            to.parent.mkdir(parents=True, exist_ok=True)
            module.rename(to)
        early = plain_cpio({"early_cpio": b"1\n", "kernel/x86/microcode/GenuineIntel.bin": b"\0" * 4096})
        tree.image.write_bytes(early + pack(Path(top)) + pack(Path(aside), "usr"))
