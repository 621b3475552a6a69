# SPDX-License-Identifier: MIT
"""A disk with 4096-byte sectors: the NVMe side must keep them."""

EXPECT = {"disk.sector-size": "warn"}
EXIT = 0


def build(guest):
    guest.lsblk["blockdevices"][0]["log-sec"] = 4096
