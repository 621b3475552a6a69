# SPDX-License-Identifier: MIT
"""Two drop-ins whose add_drivers words run together; today's image is generic."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.remove("etc/dracut.conf.d/99-generic.conf")
    tree.write("etc/dracut.conf.d/a.conf", 'add_drivers+="nvme"\n')
    tree.write("etc/dracut.conf.d/b.conf", 'add_drivers+="nvme_core"\n')
