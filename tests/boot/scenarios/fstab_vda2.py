# SPDX-License-Identifier: MIT
"""/boot in fstab is /dev/vda2."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.replace("etc/fstab", f"UUID={tree.recipe.boot.uuid} /boot", "/dev/vda2 /boot")
