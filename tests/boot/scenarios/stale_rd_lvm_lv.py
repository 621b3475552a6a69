# SPDX-License-Identifier: MIT
"""A stale rd.lvm.lv= beside root's."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.add_arguments("rd.lvm.lv=rl/old")
