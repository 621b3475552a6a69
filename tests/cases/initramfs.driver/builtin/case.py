# SPDX-License-Identifier: MIT
"""Case 13: nvme is builtin in K1; the image holds neither module."""

EXPECT = {"initramfs.driver": "pass"}
EXIT = 0


def build(guest):
    from guest import K1, Image

    builtin = "kernel/drivers/nvme/host/nvme-core.ko\nkernel/drivers/nvme/host/nvme.ko\n"
    guest.images[K1] = Image(K1, hostonly=True)
    guest.write(f"usr/lib/modules/{K1}/modules.builtin", builtin)
