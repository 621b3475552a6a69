# SPDX-License-Identifier: MIT
"""EL9: crypttab names /dev/vda4 for a mapping that nothing mounts."""
from lab.tree import Tree

GUEST = "el9"
LAYOUT = "extra"


def change(tree: Tree) -> None:
    tree.write("etc/crypttab", "scratch /dev/vda4 /dev/urandom cipher=aes-xts-plain64,size=256\n")
