# SPDX-License-Identifier: MIT
"""Case 9: two drop-ins without blanks fuse to nvmenvme_core."""

EXPECT = {"dracut.next-kernel": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.write("etc/dracut.conf.d/a.conf", 'add_drivers+="nvme"\n')
    guest.write("etc/dracut.conf.d/b.conf", 'add_drivers+="nvme_core"\n')
