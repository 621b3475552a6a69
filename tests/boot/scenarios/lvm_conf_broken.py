# SPDX-License-Identifier: MIT
"""lvmlocal.conf does not parse."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.append("etc/lvm/lvmlocal.conf", "\ndevices {\n\tscan = [ \"/dev\"\n")
