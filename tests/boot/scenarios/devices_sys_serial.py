# SPDX-License-Identifier: MIT
"""The devices file is on and names the virtio disk's serial."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.use_devicesfile("1")
