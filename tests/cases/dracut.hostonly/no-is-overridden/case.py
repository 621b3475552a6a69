# SPDX-License-Identifier: MIT
"""Case 8: only /etc/dracut.conf says no; the distribution's drop-in comes later."""

EXPECT = {"dracut.hostonly": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.write("etc/dracut.conf", 'hostonly="no"\n')
