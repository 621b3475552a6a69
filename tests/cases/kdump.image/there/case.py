# SPDX-License-Identifier: MIT
"""A kdump image is host-only: it must be rebuilt after the switch."""

EXPECT = {"kdump.image": "warn"}
EXIT = 0


def build(guest):
    from guest import K1

    guest.write(f"boot/initramfs-{K1}kdump.img", b"image")
