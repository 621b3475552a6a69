# SPDX-License-Identifier: MIT
"""blacklist nvme in the image keeps udev from loading it."""

EXPECT = {"initramfs.blocked": "fail", "initramfs.driver": "pass"}
EXIT = 1


def build(guest):
    guest.image().put("etc/modprobe.d/no-nvme.conf", "# by hand\nblacklist nvme\n")
