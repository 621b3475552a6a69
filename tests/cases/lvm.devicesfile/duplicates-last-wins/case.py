# SPDX-License-Identifier: MIT
"""Two assignments in one section: the last one counts, whatever LVM's warning says."""

EXPECT = {"lvm.devicesfile": "fail", "lvm.config": "warn"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n",
               "\tuse_devicesfile = 0\n\tuse_devicesfile = 1\n")
    guest.devices_file()
