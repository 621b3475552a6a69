# SPDX-License-Identifier: MIT
"""The image has nvme and all it needs, but neither modules.dep(.bin) nor modules.alias(.bin)."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        for index in (top / "usr/lib/modules" / tree.kernel).glob("modules.*"):
            if index.name.split(".")[1] in ("dep", "alias"):
                index.unlink()
