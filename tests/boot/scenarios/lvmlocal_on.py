# SPDX-License-Identifier: MIT
"""lvmlocal.conf switches the devices file on again."""
from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    tree.use_devicesfile("0")
    tree.append("etc/lvm/lvmlocal.conf", "\ndevices {\n\tuse_devicesfile = 1\n}\n")
