# SPDX-License-Identifier: MIT
"""A devices file without entries: LVM sees nothing at all."""

EXPECT = {"lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
    guest.devices_file("# no entries")
