# SPDX-License-Identifier: MIT
"""use_devicesfile twice in one section: first 0, then 1."""
from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    tree.use_devicesfile("0\n\tuse_devicesfile = 1")
