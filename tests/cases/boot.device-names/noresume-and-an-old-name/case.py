# SPDX-License-Identifier: MIT
"""noresume: nobody waits for the old name."""

EXPECT = {"boot.device-names": "warn"}
EXIT = 0
FIX_EXIT = 0

def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options().replace(" resume=/dev/mapper/rl-swap", "") + " resume=/dev/vda2 noresume")
