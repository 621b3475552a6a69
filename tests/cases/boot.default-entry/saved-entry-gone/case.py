# SPDX-License-Identifier: MIT
"""saved_entry names an entry that was removed: GRUB boots the first of the menu."""

EXPECT = {"boot.default-entry": "pass", "initramfs.driver": ["fail", "pass"]}
EXIT = 1


def build(guest):
    from guest import K2, Image

    guest.add_kernel(K2, Image(K2, hostonly=True))
    guest.default("4.18.0-1.el8.x86_64")
