# SPDX-License-Identifier: MIT
"""nvme was loaded by hand while the host-only image was made; nothing forces it into the next one."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.remove("etc/dracut.conf.d/99-generic.conf")
    tree.use_image("modprobed")
