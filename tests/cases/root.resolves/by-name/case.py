# SPDX-License-Identifier: MIT
"""root=/dev/vda3 leads to the root today, by a name that will be gone."""

EXPECT = {"root.resolves": "fail"}
EXIT = 1


def build(guest):
    from guest import K1, ROOT_UUID

    guest.write_entry(K1, "root=/dev/vda3 ro")
    partition = guest.lsblk["blockdevices"][0]["children"][2]
    partition.update(fstype="xfs", uuid=ROOT_UUID, mountpoint="/", mountpoints=["/"], children=[])
