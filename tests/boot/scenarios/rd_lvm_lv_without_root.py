# SPDX-License-Identifier: MIT
"""rd.lvm.lv= names swap alone, in an image that activates nothing else."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.like_el()
    tree.drop_argument("rd.lvm.lv=rl/root")
