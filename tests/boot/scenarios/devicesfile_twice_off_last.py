# SPDX-License-Identifier: MIT
"""use_devicesfile twice in one section: first 1, then 0."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.use_devicesfile("1\n\tuse_devicesfile = 0")
