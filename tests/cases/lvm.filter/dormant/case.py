# SPDX-License-Identifier: MIT
"""Case 14: the filter sleeps while the devices file is used; the fix wakes it up, and mends it too."""

EXPECT = {"lvm.devicesfile": "fail", "lvm.filter": "warn"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0",
               '\tuse_devicesfile = 1\n\tfilter = [ "a|^/dev/vda3$|", "r|.*|" ]')
    guest.devices_file()
