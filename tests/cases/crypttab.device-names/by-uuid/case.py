# SPDX-License-Identifier: MIT
"""UUIDs and a file as the device survive."""

EXPECT = {"crypttab.device-names": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/crypttab", "data UUID=55555555-5555 none luks\nfile /srv/disk.img none luks\n", 0o600)
