# SPDX-License-Identifier: MIT
"""The mapping is open, and no line of fstab that the boot waits for lies on it."""

EXPECT = {"crypttab.device-names": "warn"}
EXIT = 0


def build(guest):
    from guest import node

    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda5", "part", fstype="crypto_LUKS", uuid="55555555-5555"))
    guest.write("etc/crypttab", "data /dev/vda5 none luks\n", 0o600)
