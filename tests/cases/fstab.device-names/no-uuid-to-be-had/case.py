# SPDX-License-Identifier: MIT
"""The device is not there: nothing to write instead, so --fix leaves it and says so."""

EXPECT = {"fstab.device-names": ["fail", "fail"]}
EXIT = 1
FIX_EXIT = 1


def build(guest):
    guest.write("etc/fstab", guest.read("etc/fstab") +
                "/dev/vdc1 /data xfs defaults 0 0\n"
                "/dev/vda1 /efi vfat x-systemd.requires=/dev/vdc1,nofail 0 0\n"
                .replace(",nofail", "").replace("/dev/vda1 ", "UUID=ABCD-1234 "))
