# SPDX-License-Identifier: MIT
"""Case 17: each gets its own UUID."""

EXPECT = {"fstab.device-names": ["fail", "fail"]}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import node

    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda10", "part", fstype="xfs", uuid="10101010-aaaa", mountpoint="/ten"))
    guest.write("etc/fstab", guest.read("etc/fstab") +
                "/dev/vda10 /ten xfs defaults 0 0\n/dev/vda1 /boot/efi vfat umask=0077 0 2\n")
