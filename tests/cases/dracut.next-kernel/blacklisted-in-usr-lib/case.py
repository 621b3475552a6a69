# SPDX-License-Identifier: MIT
"""Every image gets /usr/lib/modprobe.d: the next one will have nvme and not load it."""

EXPECT = {"dracut.next-kernel": "fail", "initramfs.blocked": "pass"}
EXIT = 1


def build(guest):
    guest.write("usr/lib/modprobe.d/vendor.conf", "# blacklist nvme\nblacklist nvme\n")
