# SPDX-License-Identifier: MIT
"""A blacklist of nvme in the guest's /etc/modprobe.d and in the image, as a host-only dracut copies it."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.write("etc/modprobe.d/old-disks.conf", "blacklist nvme\n")
    tree.add_to_image("etc/modprobe.d/old-disks.conf", "blacklist nvme\n")
