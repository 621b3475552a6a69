# SPDX-License-Identifier: MIT
"""The frozen filter again, and rd.lvm.conf=0 makes the initramfs drop it."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.use_image("frozen-filter")
    tree.add_arguments("rd.lvm.conf=0")
