# SPDX-License-Identifier: MIT
"""The default entry's image holds the microcode archive and nothing behind it."""
from lab.image import plain_cpio
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.image.write_bytes(plain_cpio({"early_cpio": b"1\n", "kernel/x86/microcode/GenuineIntel.bin": b"\0" * 4096}))
