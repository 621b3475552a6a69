# SPDX-License-Identifier: MIT
"""A host-only image with nvme, in which a filter for vda3 is frozen; the guest's own lvm.conf has none any more."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.use_image("frozen-filter")
