# SPDX-License-Identifier: MIT
"""The image has no device-mapper module."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        module = next((top / "usr/lib/modules").rglob("dm-mod.ko*"))
        module.unlink()
