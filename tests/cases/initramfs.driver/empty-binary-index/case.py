# SPDX-License-Identifier: MIT
"""kmod reads the binary index alone; one of no bytes holds nothing, whatever the text beside it."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    image = guest.image()
    image.put(image.module("modules.dep.bin"), b"")
