# SPDX-License-Identifier: MIT
"""The default entry's kernel is gone."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.remove(f"boot/vmlinuz-{tree.kernel}")
