# SPDX-License-Identifier: MIT
"""Case 2: a live 1, tab-indented, and one sys_serial entry for the PV."""

EXPECT = {"lvm.devicesfile": "fail", "lvm.config": "pass", "initramfs.driver": "pass"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
    guest.devices_file()
