# SPDX-License-Identifier: MIT
"""The devices file is on and names the virtio disk's serial."""
from lab.tree import Tree

START = "generic"
CORE = True


def change(tree: Tree) -> None:
    pass
