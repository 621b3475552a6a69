# SPDX-License-Identifier: MIT
"""rd.driver.pre=nvme loads by name what modprobe.blacklist= keeps udev from loading."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    tree.add_arguments("rd.driver.pre=nvme modprobe.blacklist=nvme")
