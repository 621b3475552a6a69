# SPDX-License-Identifier: MIT
"""The default entry's image is cut in the middle."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    whole = tree.image.read_bytes()
    tree.image.write_bytes(whole[:len(whole) // 2])
