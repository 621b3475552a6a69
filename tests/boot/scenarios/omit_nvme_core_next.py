# SPDX-License-Identifier: MIT
"""omit_drivers of the next image names nvme_core; today's image is generic."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.write("etc/dracut.conf.d/omit.conf", 'omit_drivers+=" nvme_core "\n')
