# SPDX-License-Identifier: MIT
"""modprobe.blacklist=nvme-core on the entry's command line."""

EXPECT = {"initramfs.blocked": "pass"}
EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options() + " modprobe.blacklist=nvme-core")
