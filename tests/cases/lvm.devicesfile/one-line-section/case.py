# SPDX-License-Identifier: MIT
"""devices { use_devicesfile=0 } on one line: a line splitter sees no section."""

EXPECT = {"lvm.devicesfile": "pass", "lvm.config": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/lvm/lvm.conf", "devices { use_devicesfile=0 }\n")
    guest.devices_file()
