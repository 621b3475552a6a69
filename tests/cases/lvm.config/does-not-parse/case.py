# SPDX-License-Identifier: MIT
"""0x1 is no number for LVM: the whole file fails to load and every lvm command with it."""

EXPECT = {"lvm.config": "fail", "lvm.devicesfile": "unknown"}
EXIT = 1


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 0x0")
