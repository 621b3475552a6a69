# SPDX-License-Identifier: MIT
"""EL as installed: a host-only image made on virtio, LVM's devices file with the virtio serial."""
from lab.tree import Tree

START = "installed"
LIVE_FIX = True


def change(tree: Tree) -> None:
    pass
