# SPDX-License-Identifier: MIT
"""EL as installed, fixed, and the fix undone."""
from lab.tree import Tree

START = "installed"


def change(tree: Tree) -> None:
    tree.run_tool("--fix")
    tree.run_tool("--undo")
