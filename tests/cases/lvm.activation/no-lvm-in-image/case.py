# SPDX-License-Identifier: MIT
"""Root is an LV and the image has no lvm."""

EXPECT = {"lvm.activation": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.image().drop("usr/sbin/lvm")
    guest.stand_in_dracut()
