# SPDX-License-Identifier: MIT
"""rd.driver.pre=nvme loads it by name: neither the alias nor udev's rule is needed."""

EXPECT = {"initramfs.driver": "pass"}
EXIT = 0


def build(guest):
    from guest import K1

    image = guest.image()
    image.put("usr/lib/systemd/systemd-udevd", b"\x7fELF udevd")
    image.drop("usr/lib/udev/rules.d/80-drivers.rules")
    image.put(image.module("modules.alias"), "# Aliases\n")
    image.depmod()
    guest.write_entry(K1, guest.options() + " rd.driver.pre=nvme")
