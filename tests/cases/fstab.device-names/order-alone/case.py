# SPDX-License-Identifier: MIT
"""x-systemd.after= orders and waits for nothing."""

EXPECT = {"fstab.device-names": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/fstab", guest.read("etc/fstab") + "tmpfs /srv tmpfs x-systemd.after=/dev/vda1 0 0\n")
