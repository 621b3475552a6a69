# SPDX-License-Identifier: MIT
"""root= is the UUID of a file system that does not exist."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.replace(tree.entry, "root=/dev/mapper/rl-root", "root=UUID=0badcafe-0000-4000-8000-000000000000")
