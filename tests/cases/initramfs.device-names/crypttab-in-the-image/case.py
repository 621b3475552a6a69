# SPDX-License-Identifier: MIT
"""A host-only image of an encrypted guest holds a crypttab; by UUID it is fine."""

EXPECT = {"initramfs.device-names": "pass"}
EXIT = 0


def build(guest):
    guest.image().put("etc/crypttab", "luks-1 UUID=55555555-5555 none\n")
