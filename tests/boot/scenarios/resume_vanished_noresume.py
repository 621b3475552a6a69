# SPDX-License-Identifier: MIT
"""resume= names a swap that never comes, beside noresume."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.drop_resume()
    tree.add_arguments("resume=UUID=0badcafe-0000-4000-8000-000000000000 noresume")
