# SPDX-License-Identifier: MIT
"""The second field names the old disk."""

EXPECT = {"crypttab.device-names": ["fail", "warn"]}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import node

    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda5", "part", fstype="crypto_LUKS", uuid="55555555-5555"))
    disk["children"].append(node("vda6", "part", fstype="crypto_LUKS", uuid="66666666-6666"))
    guest.write("etc/fstab", guest.read("etc/fstab") + "/dev/mapper/data /srv xfs defaults 0 0\n")
    guest.write("etc/crypttab", "# name device key options\ndata /dev/vda5 none luks\n"
                "more\t/dev/vda6\tnone\tluks,nofail\nok UUID=77777777 none\n", 0o600)
