# SPDX-License-Identifier: MIT
"""Not an EL guest."""

EXPECT = {"guest.supported": "fail"}
EXIT = 1


def build(guest):
    guest.write("usr/lib/os-release",
                'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n')
