# SPDX-License-Identifier: MIT
"""Case 3: only a comment without blanks; EL 9's default is 1."""

EXPECT = {"lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "#use_devicesfile=1")
    guest.devices_file()
