# SPDX-License-Identifier: MIT
"""A line of DOS: its last option is not nofail but nofail with a carriage return."""

EXPECT = {"fstab.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0

def build(guest):
    guest.write("etc/fstab", guest.read("etc/fstab") + "/dev/vda2 /srv xfs nofail\r\n")
