# SPDX-License-Identifier: MIT
"""The devices file is on and lists nothing."""
from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    tree.write("etc/lvm/devices/system.devices", "# LVM uses devices listed in this file.\nVERSION=1.1.1\n")
