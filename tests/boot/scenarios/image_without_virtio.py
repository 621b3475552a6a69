# SPDX-License-Identifier: MIT
"""The image has nvme, but virtio_blk is gone from it."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.dracut("--omit-drivers", "virtio_blk")
