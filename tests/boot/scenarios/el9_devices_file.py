# SPDX-License-Identifier: MIT
"""EL9: the devices file is on, as vgimportdevices of this LVM writes it."""
from lab.tree import Tree

GUEST = "el9"
START = "generic"


def change(tree: Tree) -> None:
    pass
