# SPDX-License-Identifier: MIT
"""devices/use_devicesfile=0, no section at all."""

EXPECT = {"lvm.devicesfile": "pass", "lvm.config": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/lvm/lvm.conf", "devices/use_devicesfile=0\n")
    guest.devices_file()
