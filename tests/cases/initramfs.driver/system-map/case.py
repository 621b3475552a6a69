# SPDX-License-Identifier: MIT
"""A System.map and a builtin.modinfo that mention nvme are no driver."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    from guest import K1, Image

    image = guest.images[K1] = Image(K1, hostonly=True)
    guest.write(f"boot/System.map-{K1}", "ffffffff81000000 T nvme_init\nffffffff81000010 T nvme_core_init\n")
    image.put(image.module("modules.builtin.modinfo"), b"nvme.license=GPL\0")
    image.put("usr/lib/dracut/build-parameter.txt", "Arguments: --add-drivers 'nvme nvme_core'")
