# SPDX-License-Identifier: MIT
"""A generic image does not get /etc/modprobe.d, and udev has loaded nvme before the real root is there."""

EXPECT = {"dracut.next-kernel": "pass", "initramfs.blocked": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/modprobe.d/site.conf", "blacklist nvme\n")
