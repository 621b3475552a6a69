# SPDX-License-Identifier: MIT
"""A copied tree without --lsblk: what needs the disks is unknown."""

EXPECT = {"root.resolves": "unknown"}
EXIT = 3


def build(guest):
    guest.lsblk = None
