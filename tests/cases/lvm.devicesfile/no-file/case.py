# SPDX-License-Identifier: MIT
"""use_devicesfile is 1 but there is no devices file: LVM does without, today."""

EXPECT = {"lvm.devicesfile": "warn"}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
