# SPDX-License-Identifier: MIT
"""Case 10: /boot on /dev/vda2, swap on /dev/vda4, and a non-LVM root by root=/dev/vda3."""

EXPECT = {"fstab.device-names": ["fail", "fail"], "boot.device-names": ["fail", "warn", "warn"], "root.resolves": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import BOOT_UUID, K1, ROOT_UUID, SWAP_UUID, node

    disk = guest.lsblk["blockdevices"][0]
    root = disk["children"][2]
    root.update(fstype="xfs", uuid=ROOT_UUID, label="root", mountpoint="/", mountpoints=["/"], children=[])
    disk["children"].append(node("vda4", "part", fstype="swap", uuid=SWAP_UUID, mountpoint="[SWAP]"))
    guest.write_entry(K1, "root=/dev/vda3 ro quiet")
    guest.write("etc/kernel/cmdline", "root=/dev/vda3 ro quiet\n")
    guest.write("etc/default/grub", 'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX="root=/dev/vda3 quiet"\n')
    guest.write("etc/fstab",
                "# /etc/fstab: do not lose this comment\n"
                f"UUID={ROOT_UUID}   /       xfs   defaults    0 0\n"
                "/dev/vda2\t/boot\txfs\tdefaults\t0 0  \n"
                "\n"
                "/dev/vda4 none swap  defaults 0 0")  # no newline at the end
    assert BOOT_UUID
