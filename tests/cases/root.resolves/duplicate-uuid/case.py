# SPDX-License-Identifier: MIT
"""Two file systems carry root's UUID."""

EXPECT = {"root.resolves": "fail"}
EXIT = 1


def build(guest):
    from guest import K1, ROOT_UUID, node

    guest.write_entry(K1, f"root=UUID={ROOT_UUID} ro rd.lvm.lv=rl/root")
    guest.lsblk["blockdevices"].append(node("vdb", "disk", fstype="xfs", uuid=ROOT_UUID, tran="virtio"))
