# SPDX-License-Identifier: MIT
"""A filter that takes vda3 alone, with the devices file off."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.append("etc/lvm/lvmlocal.conf", '\ndevices {\n\tfilter = [ "a|^/dev/vda3$|", "r|.*|" ]\n}\n')
