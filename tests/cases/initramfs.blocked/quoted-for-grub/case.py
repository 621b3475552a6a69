# SPDX-License-Identifier: MIT
"""GRUB takes the quotes away before the kernel sees the word."""

EXPECT = {"initramfs.blocked": "fail", "boot.device-names": "fail"}
EXIT = 1


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options().replace(" resume=/dev/mapper/rl-swap", "")
                      + " 'modprobe.blacklist=nvme' resume=\\/dev/vda2")
