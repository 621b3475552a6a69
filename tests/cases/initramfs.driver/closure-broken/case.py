# SPDX-License-Identifier: MIT
"""nvme.ko is there, but nvme-auth, which nvme-core needs, is not."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.image().drop_module("kernel/drivers/nvme/common/nvme-auth.ko.xz")
    guest.stand_in_dracut()
