# SPDX-License-Identifier: MIT
"""virtio_blk is gone: the guest could not go back to the old controller."""

EXPECT = {"initramfs.way-back": "warn", "initramfs.driver": "pass"}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    image = guest.image()
    image.drop_module("kernel/drivers/block/virtio_blk.ko.xz")
    guest.stand_in_dracut()
