# SPDX-License-Identifier: MIT
"""The fallback loader is on the ESP, its names in another case."""

EXPECT = {"firmware.loader": "pass"}
EXIT = 0


def build(guest):
    guest.write("boot/efi/efi/boot/bootx64.efi", b"MZ")
    guest.write("boot/efi/efi/rocky/shimx64.efi", b"MZ")
