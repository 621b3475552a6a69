# SPDX-License-Identifier: MIT
"""EL 8's kernel does not unpack zstd, and its dracut does not ask."""

EXPECT = {"initramfs.readable": ["pass", "fail"]}
EXIT = 1


def build(guest):
    kernel = "4.18.0-553.el8_10.x86_64"
    guest.become_el8()
    image = guest.add_kernel(kernel)
    image.compressor = ["zstd", "-q", "-3"]
    guest.default(kernel)
