# SPDX-License-Identifier: MIT
"""The image lacks nvme-auth, which nvme-core needs on this kernel."""
from lab.tree import Tree

CORE = True


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        for module in (top / "usr/lib/modules").rglob("nvme-auth.ko*"):
            module.unlink()
        if not any((top / "usr/lib/modules").rglob("nvme-core.ko*")):
            raise RuntimeError("nvme-core is not there either")
