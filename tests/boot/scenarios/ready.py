# SPDX-License-Identifier: MIT
"""Prepared by hand: generic image, hostonly="no", use_devicesfile = 0; a kernel package comes before the switch."""
from lab.tree import Tree

NEXT = True
CORE = True


def change(tree: Tree) -> None:
    pass
