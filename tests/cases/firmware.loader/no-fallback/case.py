# SPDX-License-Identifier: MIT
"""UEFI, and nothing at EFI/BOOT: a host without NVRAM finds no loader."""

EXPECT = {"firmware.loader": "warn"}
EXIT = 0


def build(guest):
    guest.write("boot/efi/EFI/rocky/shimx64.efi", b"MZ")
