# SPDX-License-Identifier: MIT
"""Host-only, but nvme is forced into every image."""

EXPECT = {"dracut.hostonly": "warn", "dracut.next-kernel": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/dracut.conf.d/zz-nvme.conf", 'add_drivers+=" nvme nvme_core "\n')
