# SPDX-License-Identifier: MIT
"""EL9: a swap encrypted with a random key on /dev/vda4, in crypttab and fstab."""
from lab.tree import Tree

GUEST = "el9"
LAYOUT = "extra"


def change(tree: Tree) -> None:
    tree.write("etc/crypttab", "cswap /dev/vda4 /dev/urandom swap,cipher=aes-xts-plain64,size=256\n")
    tree.append("etc/fstab", "/dev/mapper/cswap none swap defaults 0 0\n")
