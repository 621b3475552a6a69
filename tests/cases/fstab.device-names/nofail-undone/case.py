# SPDX-License-Identifier: MIT
"""Of nofail and fail the last counts."""

EXPECT = {"fstab.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0

def build(guest):
    guest.write("etc/fstab", guest.read("etc/fstab") + "/dev/vda2 /srv xfs nofail,rw,fail 0 0\n")
