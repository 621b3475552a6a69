# SPDX-License-Identifier: MIT
"""EL9: resume= is the swap LV, and no rd.lvm.lv= names it."""
from lab.tree import Tree

GUEST = "el9"


def change(tree: Tree) -> None:
    tree.like_el()
    tree.drop_argument("rd.lvm.lv=rl/swap")
