# SPDX-License-Identifier: MIT
"""The image was built while omit_drivers named nvme_core."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.dracut("--omit-drivers", "nvme_core")
