# SPDX-License-Identifier: MIT
"""nvme_core is omitted: nvme.ko would be there and could not load."""

EXPECT = {"dracut.next-kernel": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.write("etc/dracut.conf.d/zz-nvme.conf", 'hostonly="no"\nomit_drivers+=" nvme_core "\n')
