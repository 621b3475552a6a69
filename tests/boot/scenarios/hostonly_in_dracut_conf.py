# SPDX-License-Identifier: MIT
"""hostonly="no" only in /etc/dracut.conf, which the vendor's drop-in overrides; today's image is generic."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.remove("etc/dracut.conf.d/99-generic.conf")
    tree.append("etc/dracut.conf", '\nhostonly="no"\n')
