# SPDX-License-Identifier: MIT
"""The image has nvme, but virtio_blk is gone from it."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        next((top / "usr/lib/modules").rglob("virtio_blk.ko*")).unlink()
