# SPDX-License-Identifier: MIT
"""Case 13: builtin in K1, but the default K2 has it as a module and its image lacks it."""

EXPECT = {"initramfs.driver": ["fail", "pass"]}
EXIT = 1


def build(guest):
    from guest import K1, K2, Image

    builtin = "kernel/drivers/nvme/host/nvme-core.ko\nkernel/drivers/nvme/host/nvme.ko\n"
    guest.images[K1] = Image(K1, hostonly=True)
    guest.write(f"usr/lib/modules/{K1}/modules.builtin", builtin)
    guest.add_kernel(K2, Image(K2, hostonly=True))
    guest.default(K2)
