# SPDX-License-Identifier: MIT
"""/boot in fstab is named by the virtio disk's serial."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.replace("etc/fstab", f"UUID={tree.recipe.boot.uuid} /boot", "/dev/disk/by-id/virtio-BHYVE-1234-part2 /boot")
