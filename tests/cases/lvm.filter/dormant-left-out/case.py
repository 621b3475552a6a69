# SPDX-License-Identifier: MIT
"""The same, with the filter left out: the fix of the devices file is refused."""

EXPECT = {"lvm.devicesfile": "fail"}
OPTIONS = ["--skip", "lvm.filter"]
EXIT = 1
FIX_EXIT = 4


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0",
               '\tuse_devicesfile = 1\n\tfilter = [ "a|^/dev/vda3$|", "r|.*|" ]')
    guest.devices_file()
