# SPDX-License-Identifier: MIT
"""The default entry's initrd is not there."""

EXPECT = {"boot.default-entry": "fail"}
EXIT = 1


def build(guest):
    guest.images.clear()
