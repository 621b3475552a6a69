# SPDX-License-Identifier: MIT
"""udev is there and its rule that loads drivers is masked: nothing loads nvme."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    image = guest.image()
    image.put("usr/lib/systemd/systemd-udevd", b"\x7fELF udevd")
    image.put("etc/udev/rules.d/80-drivers.rules", b"")
