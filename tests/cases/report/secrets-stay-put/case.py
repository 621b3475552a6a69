# SPDX-License-Identifier: MIT
"""Passwords beside the lines that --fix edits, and on a line that only names a disk, are in no JSON report and no journal."""

from guest import BOOT_UUID

SECRETS = ["hunter2"]
EXPECT = {"fstab.device-names": "fail", "lvm.devicesfile": "fail", "names.elsewhere": "warn"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.edit("etc/fstab", f"UUID={BOOT_UUID} ", "//nas/a /srv/a cifs nofail,password=hunter2 0 0\n/dev/vda2 ")
    guest.write("etc/fstab", guest.read("etc/fstab") + "//nas/b /srv/b cifs nofail,password=hunter2 0 0\n")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n", "\t# hunter2\n\tuse_devicesfile = 1\n\t# hunter2\n")
    guest.devices_file()
    guest.write("etc/systemd/system/backup.service",
                "[Service]\nExecStart=/bin/backup --password=hunter2 /dev/vda2 --to=hunter2\n")
