# SPDX-License-Identifier: MIT
"""systemd ignores a noresume that has a value."""

EXPECT = {"boot.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0

def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options().replace(" resume=/dev/mapper/rl-swap", "") + " resume=UUID=99999999-9999 noresume=1")
