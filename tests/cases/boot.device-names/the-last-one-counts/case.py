# SPDX-License-Identifier: MIT
"""Of several resume= the last counts; the one before is a warning."""

EXPECT = {"boot.device-names": "warn"}
EXIT = 0
FIX_EXIT = 0

def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options().replace(" resume=/dev/mapper/rl-swap", "") + " resume=/dev/vda2 resume=/dev/mapper/rl-swap")
