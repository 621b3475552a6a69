# SPDX-License-Identifier: MIT
"""A host-only image with nvme forced, made in the guest; the setting stays for the next kernel."""
from lab.tree import Tree

NEXT = True


def change(tree: Tree) -> None:
    tree.remove("etc/dracut.conf.d/99-generic.conf")
    tree.write("etc/dracut.conf.d/50-nvme.conf", 'add_drivers+=" nvme "\n')
    tree.use_image("forced")
