# SPDX-License-Identifier: MIT
"""Root is an LV and the image has no lvm."""

EXPECT = {"lvm.activation": "fail"}
EXIT = 1


def build(guest):
    guest.image().drop("usr/sbin/lvm")
