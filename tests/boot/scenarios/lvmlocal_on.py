# SPDX-License-Identifier: MIT
"""lvmlocal.conf switches the devices file on again."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.append("etc/lvm/lvmlocal.conf", "\ndevices {\n\tuse_devicesfile = 1\n}\n")
