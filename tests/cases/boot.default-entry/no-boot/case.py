# SPDX-License-Identifier: MIT
"""A tree without /boot."""

EXPECT = {"boot.default-entry": "unknown"}
EXIT = 3


def build(guest):
    guest.remove("boot")
    guest.images.clear()
