# SPDX-License-Identifier: MIT
"""rd.lvm.lv names the swap LV alone: dracut activates nothing else."""

EXPECT = {"lvm.activation": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(K1, "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/swap")
