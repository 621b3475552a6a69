# SPDX-License-Identifier: MIT
"""use_devicesfile = "0", a string, which LVM takes for invalid."""
from lab.tree import Tree

STANDIN = ("LVM uses its compiled default then: off in Debian's build, which the live tool asks, on in EL's, "
           "which offline goes by.")


def change(tree: Tree) -> None:
    tree.use_devicesfile('"0"')
