# SPDX-License-Identifier: MIT
"""No LVM; root=/dev/vda3."""
from lab.tree import Tree

LAYOUT = "plain"


def change(tree: Tree) -> None:
    tree.replace(tree.entry, f"root=UUID={tree.recipe.lv('root').uuid}", "root=/dev/vda3")
