# SPDX-License-Identifier: MIT
"""EL 8's kernel does not unpack zstd, and its dracut does not ask."""

EXPECT = {"initramfs.readable": ["pass", "fail"]}
EXIT = 1


def build(guest):
    kernel = "4.18.0-553.el8_10.x86_64"
    guest.write("usr/lib/os-release",
                'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"\n'
                'PRETTY_NAME="Rocky Linux 8.10 (Green Obsidian)"\n')
    image = guest.add_kernel(kernel)
    image.compressor = ["zstd", "-q", "-3"]
    guest.default(kernel)
