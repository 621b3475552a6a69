# SPDX-License-Identifier: MIT
"""EL9 prepared by hand; a kernel package comes before the switch."""
from lab.tree import Tree

GUEST = "el9"
NEXT = True


def change(tree: Tree) -> None:
    pass
