# SPDX-License-Identifier: MIT
"""LVM is switched off in the initramfs, and root is an LV."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.like_el()
    tree.add_arguments("rd.lvm=0")
