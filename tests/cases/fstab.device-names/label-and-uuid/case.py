# SPDX-License-Identifier: MIT
"""Case 16: the file system has LABEL="root" and a UUID; the line gets the UUID."""

EXPECT = {"fstab.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import BOOT_UUID

    guest.lsblk["blockdevices"][0]["children"][1]["label"] = "root"
    guest.edit("etc/fstab", f"UUID={BOOT_UUID} /boot", "/dev/vda2 /boot")
