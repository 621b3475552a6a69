# SPDX-License-Identifier: MIT
"""Case 1: everything is as it should be."""

EXPECT = {
    "guest.supported": "pass", "boot.default-entry": "pass", "initramfs.readable": "pass",
    "initramfs.driver": "pass", "initramfs.way-back": "pass", "dracut.hostonly": "pass",
    "dracut.next-kernel": "pass", "lvm.config": "pass", "lvm.devicesfile": "pass",
    "lvm.activation": "pass", "root.resolves": "pass",
}
EXIT = 0
FIX_EXIT = 0
SCREENS = ["check", "fix"]


def build(guest):
    pass
