# SPDX-License-Identifier: MIT
"""The PV's stable link is accepted: it has that name on NVMe as well."""

EXPECT = {"lvm.filter": "pass"}
EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tscan = ",
               '\tfilter = [ "a|/dev/disk/by-partuuid/44444444-0003|", "r|.*|" ]\n\tscan = ')
