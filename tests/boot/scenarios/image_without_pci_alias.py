# SPDX-License-Identifier: MIT
"""The image's modules.alias has lost the lines of nvme's PCI class."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        directory = top / "usr/lib/modules" / tree.kernel
        (directory / "modules.alias.bin").unlink()
        alias = directory / "modules.alias"
        lines = alias.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.rstrip().endswith(" nvme")]
        if len(kept) == len(lines):
            raise RuntimeError("no alias of nvme to take out")
        alias.write_text("".join(kept))
