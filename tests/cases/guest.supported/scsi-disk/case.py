# SPDX-License-Identifier: MIT
"""The root disk is no virtio-blk disk: names of its kind are not what is looked for."""

EXPECT = {"guest.supported": "unknown"}
EXIT = 3


def build(guest):
    import json

    text = json.dumps(guest.lsblk).replace("vda", "sda").replace('"virtio"', '"sata"')
    guest.lsblk = json.loads(text)
    guest.write("etc/fstab", guest.read("etc/fstab") + "/dev/sda2 /srv xfs defaults 0 0\n")
