# SPDX-License-Identifier: MIT
"""The image waits for the old disk's swap partition."""

EXPECT = {"initramfs.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.image().put("usr/lib/dracut/hooks/initqueue/finished/devexists-\\x2fdev\\x2fvda4.sh",
                      '[ -e "/dev/vda4" ]\n')
    guest.stand_in_dracut()
