# SPDX-License-Identifier: MIT
"""Through OVMF: the ESP has EFI/rocky alone, the NVRAM is thrown away."""
from lab.tree import Tree
from lab.vm import Host

LAYOUT = "uefi"
HOST = Host(firmware=True)


def change(tree: Tree) -> None:
    tree.remove("boot/efi/EFI/BOOT/BOOTX64.EFI")
