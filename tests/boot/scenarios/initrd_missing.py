# SPDX-License-Identifier: MIT
"""The default entry's image is gone."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.image.unlink()
