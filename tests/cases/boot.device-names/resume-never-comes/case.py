# SPDX-License-Identifier: MIT
"""resume= names a UUID that nothing has: the boot waits without limit."""

EXPECT = {"boot.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(K1, "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/root resume=UUID=99999999-9999")
