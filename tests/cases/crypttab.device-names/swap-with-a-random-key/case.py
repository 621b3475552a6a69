# SPDX-License-Identifier: MIT
"""Swap with a random key: a UUID on it would be gone after the first boot, the partition's own is not."""

EXPECT = {"crypttab.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import node

    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda4", "part", fstype="swap", uuid="88888888-8888", partuuid="44444444-0004"))
    guest.write("etc/crypttab", "cryptswap\t/dev/vda4\t/dev/urandom\tswap,cipher=aes-xts-plain64\n")
