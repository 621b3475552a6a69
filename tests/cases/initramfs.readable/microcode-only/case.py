# SPDX-License-Identifier: MIT
"""Only the early microcode archive is left."""

EXPECT = {"initramfs.readable": "fail"}
EXIT = 1


def build(guest):
    from guest import K1

    image = guest.image()
    image.early = {"kernel/x86/microcode/GenuineIntel.bin": b"x" * 4096, "early_cpio": b"1\n"}
    image.files.clear()
    image.links.clear()
    image.compressor = []
