# SPDX-License-Identifier: MIT
"""/boot in fstab is /dev/vda2, with nofail."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.replace("etc/fstab", f"UUID={tree.recipe.boot.uuid} /boot ext4 defaults",
                 "/dev/vda2 /boot ext4 defaults,nofail")
