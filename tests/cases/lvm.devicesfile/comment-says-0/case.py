# SPDX-License-Identifier: MIT
"""Case 4: a botched sed turned the comment into a 0, but a comment sets nothing."""

EXPECT = {"lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\t# use_devicesfile = 0")
    guest.devices_file()
