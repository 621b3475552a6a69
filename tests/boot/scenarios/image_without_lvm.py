# SPDX-License-Identifier: MIT
"""The image has no lvm program."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        (top / "usr/sbin/lvm").unlink()
