# SPDX-License-Identifier: MIT
"""Without the class alias udev loads nothing for an NVMe controller."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    image = guest.image()
    image.put(image.module("modules.alias"), "# Aliases\nalias virtio:d00000002v* virtio_blk\n")
    image.depmod()
