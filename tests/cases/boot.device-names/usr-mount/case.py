# SPDX-License-Identifier: MIT
"""mount.usr= is mounted in the initramfs."""

EXPECT = {"boot.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0

def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options().replace(" resume=/dev/mapper/rl-swap", "") + " mount.usr=/dev/vda2")
