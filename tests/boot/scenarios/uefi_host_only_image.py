# SPDX-License-Identifier: MIT
"""Through OVMF: all right with the firmware, but the image is the host-only one."""
from lab.tree import Tree
from lab.vm import Host

START = "installed"
LAYOUT = "uefi"
HOST = Host(firmware=True)


def change(tree: Tree) -> None:
    pass
