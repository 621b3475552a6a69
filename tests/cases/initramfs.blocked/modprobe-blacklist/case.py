# SPDX-License-Identifier: MIT
"""modprobe.blacklist=nvme on the entry's command line."""

EXPECT = {"initramfs.blocked": "fail"}
EXIT = 1


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options() + " modprobe.blacklist=nvme")
