# SPDX-License-Identifier: MIT
"""No fstab at all."""

EXPECT = {"fstab.device-names": "skip"}
EXIT = 0


def build(guest):
    guest.remove("etc/fstab")
