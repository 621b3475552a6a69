# SPDX-License-Identifier: MIT
"""Case 7: K1 has nvme in its image, the newer default K2 has not."""

EXPECT = {"initramfs.driver": ["fail", "pass"], "boot.default-entry": "pass"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import K2, Image

    guest.add_kernel(K2, Image(K2, hostonly=True))
    guest.default(K2)
    guest.stand_in_dracut()
