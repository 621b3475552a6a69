# SPDX-License-Identifier: MIT
"""noresume: nothing waits for it."""

EXPECT = {"boot.device-names": "pass"}
EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(
        K1, "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/root resume=UUID=99999999-9999 noresume")
