# SPDX-License-Identifier: MIT
"""udev is there without its rule that loads drivers; rd.driver.pre= would have loaded nvme by name."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    image = guest.image()
    image.put("usr/lib/systemd/systemd-udevd", b"\x7fELF udevd")
    image.drop("usr/lib/udev/rules.d/80-drivers.rules")
