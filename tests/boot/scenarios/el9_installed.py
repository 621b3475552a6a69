# SPDX-License-Identifier: MIT
"""EL9 as installed."""
from lab.tree import Tree

GUEST = "el9"
START = "installed"
LIVE_FIX = True


def change(tree: Tree) -> None:
    pass
