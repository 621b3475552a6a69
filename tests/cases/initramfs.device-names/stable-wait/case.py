# SPDX-License-Identifier: MIT
"""A wait for a name that survives is no fault."""

EXPECT = {"initramfs.device-names": "pass"}
EXIT = 0


def build(guest):
    guest.image().put("usr/lib/dracut/hooks/initqueue/finished/devexists-\\x2fdev\\x2fmapper\\x2frl-root.sh",
                      '[ -e "/dev/mapper/rl-root" ]\n')
