# SPDX-License-Identifier: MIT
"""A host-only image gets /etc/modprobe.d too, with nvme forced into it or not."""

EXPECT = {"dracut.next-kernel": "fail", "dracut.hostonly": "warn"}
EXIT = 1


def build(guest):
    guest.write("etc/dracut.conf.d/zz-nvme.conf", 'add_drivers+=" nvme nvme_core "\n')
    guest.write("etc/modprobe.d/site.conf", "install nvme-core /bin/true\n")
