# SPDX-License-Identifier: MIT
"""Case 14: the same filter frozen in a host-only image."""

EXPECT = {"initramfs.lvm-config": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.image().put("etc/lvm/lvm.conf",
                      'devices {\n\tfilter = [ "a|^/dev/vda3$|", "r|.*|" ]\n}\n')
    guest.stand_in_dracut()
