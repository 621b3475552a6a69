# SPDX-License-Identifier: MIT
"""The image holds nvme, for a kernel that is not the entry's."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    from guest import K1, K2, Image

    guest.images[K1] = Image(K2)
