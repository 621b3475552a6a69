# SPDX-License-Identifier: MIT
"""Case 14: use_devicesfile is 0, so the filter decides."""

EXPECT = {"lvm.devicesfile": "pass", "lvm.filter": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tscan = ",
               '\tglobal_filter = [\n\t\t"a|^/dev/vda3$|",  # the disk\n\t\t"r|.*|"\n\t]\n\tscan = ')
