# SPDX-License-Identifier: MIT
"""Case 6: lvm.conf says 0, lvmlocal.conf says 1 and wins."""

EXPECT = {"lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.write("etc/lvm/lvmlocal.conf", "devices { use_devicesfile = 1 }\n")
    guest.devices_file()
