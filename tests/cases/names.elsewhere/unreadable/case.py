# SPDX-License-Identifier: MIT
"""Odd files in /etc are passed over: a FIFO, a binary, a link out of the tree, a huge file."""

EXPECT = {"names.elsewhere": "pass"}
EXIT = 0


def build(guest):
    import os

    os.mkfifo(guest.path("etc/fifo"))
    guest.write("etc/binary", b"\0What=/dev/vda1\n")
    guest.link("etc/outside", "../../../../../../etc")
    guest.write("etc/huge", b"x" * (2 << 20))
