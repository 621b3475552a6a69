# SPDX-License-Identifier: MIT
"""rd.driver.pre=nvme against the kernel's own module_blacklist=."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.add_arguments("rd.driver.pre=nvme module_blacklist=nvme")
