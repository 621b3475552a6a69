# SPDX-License-Identifier: MIT
"""Through OVMF: the ESP has EFI/BOOT/BOOTX64.EFI, the NVRAM is thrown away."""
from lab.tree import Tree
from lab.vm import Host

LAYOUT = "uefi"
HOST = Host(firmware=True)


def change(tree: Tree) -> None:
    pass
