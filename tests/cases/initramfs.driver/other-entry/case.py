# SPDX-License-Identifier: MIT
"""The older kernel's image lacks nvme: a warning, and --fix mends it too."""

EXPECT = {"initramfs.driver": ["pass", "warn"]}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    from guest import K1, K2, Image

    guest.images[K1] = Image(K1, hostonly=True)
    guest.add_kernel(K2)
    guest.default(K2)
    guest.stand_in_dracut()
