# SPDX-License-Identifier: MIT
"""rd.driver.blacklist= names nvme."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.add_arguments("rd.driver.blacklist=nvme")
