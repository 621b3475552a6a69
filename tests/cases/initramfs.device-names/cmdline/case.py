# SPDX-License-Identifier: MIT
"""hostonly_cmdline=yes has written root= with the old name into the image."""

EXPECT = {"initramfs.device-names": "fail"}
EXIT = 1


def build(guest):
    from guest import K1

    guest.write_entry(K1, "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/root")
    guest.image().put("etc/cmdline.d/95resume.conf", " resume=/dev/disk/by-id/virtio-BHYVE-1-part4 \n")
