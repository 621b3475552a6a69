# SPDX-License-Identifier: MIT
"""A blacklist of nvme in /etc/modprobe.d, and the generic image was built with it."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.write("etc/modprobe.d/old-disks.conf", "blacklist nvme\n")
    tree.dracut()
