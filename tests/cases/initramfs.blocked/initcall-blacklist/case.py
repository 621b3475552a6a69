# SPDX-License-Identifier: MIT
"""initcall_blacklist=nvme_core_init on the entry's command line."""

EXPECT = {"initramfs.blocked": "fail"}
EXIT = 1


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options() + " initcall_blacklist=nvme_core_init")
