# SPDX-License-Identifier: MIT
"""A devname entry is found again by PVID with lvm2 2.03.23 and newer."""

EXPECT = {"lvm.devicesfile": "warn"}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    from guest import PV_UUID

    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
    guest.devices_file(
        f"IDTYPE=devname IDNAME=/dev/vda3 DEVNAME=/dev/vda3 PVID={PV_UUID.replace('-', '')} PART=3")
