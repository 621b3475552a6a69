# SPDX-License-Identifier: MIT
"""A host-only image with a command line of its own names an LV that is gone: building it anew mends that."""

EXPECT = {"lvm.activation": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.image().put("etc/cmdline.d/90lvm.conf", " rd.lvm.lv=rl/old\n")
    guest.stand_in_dracut()
