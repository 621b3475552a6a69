# SPDX-License-Identifier: MIT
"""The entries are fine, /etc/kernel/cmdline is not: a warning, and --fix mends it."""

EXPECT = {"boot.device-names": "warn"}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    from guest import SWAP_UUID, node

    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda4", "part", fstype="swap", uuid=SWAP_UUID.replace("3", "8")))
    guest.write("etc/kernel/cmdline", "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/root resume=/dev/vda4\n")
