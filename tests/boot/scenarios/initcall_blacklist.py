# SPDX-License-Identifier: MIT
"""initcall_blacklist= names nvme's init function."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.add_arguments("initcall_blacklist=nvme_init")
