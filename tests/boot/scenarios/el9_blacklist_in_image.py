# SPDX-License-Identifier: MIT
"""EL9: a blacklist of nvme in the guest's /etc/modprobe.d and in the image."""
from lab.tree import Tree

GUEST = "el9"


def change(tree: Tree) -> None:
    tree.write("etc/modprobe.d/old-disks.conf", "blacklist nvme\n")
    tree.add_to_image("etc/modprobe.d/old-disks.conf", "blacklist nvme\n")
