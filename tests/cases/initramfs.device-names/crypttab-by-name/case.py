# SPDX-License-Identifier: MIT
"""The image's crypttab waits for the old disk."""

EXPECT = {"initramfs.device-names": "fail"}
EXIT = 1


def build(guest):
    guest.image().put("etc/crypttab", "luks-1 /dev/vda3 none\n")
