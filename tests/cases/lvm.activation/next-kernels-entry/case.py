# SPDX-License-Identifier: MIT
"""The entries are fine; the line that the next kernel's entry is made from waits for what is not there."""

EXPECT = {"lvm.activation": ["pass", "warn"], "boot.device-names": "warn"}
EXIT = 0
FIX_EXIT = 0


def build(guest):
    guest.write("etc/kernel/cmdline",
                "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/root rd.lvm.lv=rl/old resume=UUID=99999999-9999\n")
