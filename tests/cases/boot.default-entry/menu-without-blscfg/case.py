# SPDX-License-Identifier: MIT
"""GRUB_ENABLE_BLSCFG=false: what GRUB boots is written in grub.cfg, and the entries say nothing about it."""

EXPECT = {"boot.default-entry": "unknown"}
EXIT = 3


def build(guest):
    guest.write("boot/grub2/grub.cfg",
                'set default="0"\nmenuentry "Rocky Linux" {\n\tlinux /vmlinuz-x root=/dev/vda3\n\tinitrd /x.img\n}\n')
