# SPDX-License-Identifier: MIT
"""A disk of 4096-byte sectors, and the NVMe side keeps them."""
from lab.tree import Tree
from lab.vm import Host

LAYOUT = "sector4096"
HOST = Host(virtio_sector=4096, nvme_sector=4096)


def change(tree: Tree) -> None:
    pass
