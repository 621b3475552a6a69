# SPDX-License-Identifier: MIT
"""A nofail line does not stop the boot; --fix mends it all the same."""

EXPECT = {"fstab.device-names": ["warn", "warn"]}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    guest.write("etc/fstab", guest.read("etc/fstab") +
                "/dev/disk/by-id/virtio-BHYVE-1234-5678-9ABC-part1 /efi vfat nofail 0 0\n"
                "/dev/vda1 /mnt vfat noauto 0 0\n")
