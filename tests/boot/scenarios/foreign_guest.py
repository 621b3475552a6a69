# SPDX-License-Identifier: MIT
"""os-release says Debian."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.write("usr/lib/os-release", 'NAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian 13"\n')
