# SPDX-License-Identifier: MIT
"""modprobe.blacklist= names nvme."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.add_arguments("modprobe.blacklist=nvme")
