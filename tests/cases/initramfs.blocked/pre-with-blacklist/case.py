# SPDX-License-Identifier: MIT
"""rd.driver.pre=nvme rd.driver.blacklist=nvme on the entry's command line."""

EXPECT = {"initramfs.blocked": "pass"}
EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options() + " rd.driver.pre=nvme rd.driver.blacklist=nvme")
