# SPDX-License-Identifier: MIT
"""An rd.lvm.lv names an LV that does not exist: dracut waits for it and gives up."""

EXPECT = {"lvm.activation": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options() + " rd.lvm.lv=rl/old")
