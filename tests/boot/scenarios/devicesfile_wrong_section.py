# SPDX-License-Identifier: MIT
"""use_devicesfile = 0 stands in the section global, the live 1 in devices."""
from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    tree.replace("etc/lvm/lvm.conf", "\nglobal {\n", "\nglobal {\n\tuse_devicesfile = 0\n")
