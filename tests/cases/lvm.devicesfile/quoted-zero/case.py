# SPDX-License-Identifier: MIT
"""Case 15: LVM takes a quoted 0 for invalid and uses its default."""

EXPECT = {"lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", '\tuse_devicesfile = "0"')
    guest.devices_file()
