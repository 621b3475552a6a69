# SPDX-License-Identifier: MIT
"""The devices file is on, and there is none."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.use_devicesfile("1")
    tree.remove("etc/lvm/devices/system.devices")
