# SPDX-License-Identifier: MIT
"""Case 14: a|.*| accepts everything."""

EXPECT = {"lvm.filter": "pass"}
EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tscan = ", '\tfilter = [ "a|.*|" ]\n\tscan = ')
