# SPDX-License-Identifier: MIT
"""The kernel is told to load no nvme."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.add_arguments("module_blacklist=floppy,nvme")
