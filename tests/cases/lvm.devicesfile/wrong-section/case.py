# SPDX-License-Identifier: MIT
"""Case 5: 0 is live, but in global."""

EXPECT = {"lvm.devicesfile": "fail", "lvm.config": "warn"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n", "")
    guest.edit("etc/lvm/lvm.conf", "config {", "global {\n\tuse_devicesfile = 0\n}\n\nconfig {")
    guest.devices_file()
