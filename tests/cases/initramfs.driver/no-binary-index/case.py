# SPDX-License-Identifier: MIT
"""kmod reads only the .bin indexes."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    image = guest.image()
    image.drop(image.module("modules.alias.bin"))
