# SPDX-License-Identifier: MIT
"""The same entry with lvm2 2.03.21 (EL 9.3): the PV is not searched for on NVMe."""

EXPECT = {"lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import PV_UUID

    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
    guest.write("usr/sbin/lvm", b"\x7fELF lvm 2.03.21(2) (2023-04-21)\0")
    guest.devices_file(
        f"IDTYPE=devname IDNAME=/dev/vda3 DEVNAME=/dev/vda3 PVID={PV_UUID.replace('-', '')} PART=3")
