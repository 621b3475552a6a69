# SPDX-License-Identifier: MIT
"""The key file and the header lie on disks by their old names."""

EXPECT = {"crypttab.device-names": ["fail", "fail"]}
EXIT = 1


def build(guest):
    guest.write("etc/crypttab", "a UUID=55555555-5555 /key:/dev/vda2 luks\n"
                                "b UUID=66666666-6666 none luks,header=/h:/dev/disk/by-path/pci-0000:00:05.0-part1\n")
