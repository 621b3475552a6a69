# SPDX-License-Identifier: MIT
"""mount(8) skips a line of two fields, systemd mounts it (getmntent)."""

EXPECT = {"fstab.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0

def build(guest):
    guest.write("etc/fstab", guest.read("etc/fstab") + "/dev/vda2 /srv\n")
