# SPDX-License-Identifier: MIT
"""The devices file is on, and there is none."""
from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    tree.remove("etc/lvm/devices/system.devices")
