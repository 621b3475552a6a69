# SPDX-License-Identifier: MIT
"""An entry that is left over from a removed kernel, its image gone: a warning, and nothing is unknown."""

EXPECT = {"lvm.activation": ["skip", "pass"], "initramfs.readable": ["warn", "pass"]}
EXIT = 0


def build(guest):
    from guest import K2

    guest.add_kernel(K2)
    del guest.images[K2]
