# SPDX-License-Identifier: MIT
"""A UUID that two file systems have: which of them is mounted is chance."""

EXPECT = {"fstab.device-names": "warn"}
EXIT = 0


def build(guest):
    from guest import BOOT_UUID, node

    guest.lsblk["blockdevices"][0]["children"].append(
        node("vda4", "part", fstype="xfs", uuid=BOOT_UUID, partuuid="44444444-0004"))
