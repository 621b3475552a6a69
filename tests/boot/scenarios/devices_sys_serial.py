# SPDX-License-Identifier: MIT
"""The devices file is on and names the virtio disk's serial."""
from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    pass
