# SPDX-License-Identifier: MIT
"""A guest without LVM: nothing to judge."""

EXPECT = {"lvm.config": "skip", "lvm.devicesfile": "skip", "lvm.activation": "skip",
          "root.resolves": "pass"}
EXIT = 0


def build(guest):
    from guest import K1, ROOT_UUID

    guest.remove("etc/lvm")
    guest.remove("usr/sbin/lvm")
    guest.write_entry(K1, f"root=UUID={ROOT_UUID} ro")
    partition = guest.lsblk["blockdevices"][0]["children"][2]
    partition.update(fstype="xfs", uuid=ROOT_UUID, mountpoint="/", mountpoints=["/"], children=[])
    guest.write("etc/fstab", f"UUID={ROOT_UUID} / xfs defaults 0 0\n")
