# SPDX-License-Identifier: MIT
"""A disk of 4096-byte sectors, and the NVMe side shows 512."""
from lab.tree import Tree
from lab.vm import Host

LAYOUT = "sector4096"
HOST = Host(virtio_sector=4096, nvme_sector=512)


def change(tree: Tree) -> None:
    pass
