# SPDX-License-Identifier: MIT
"""The way most guests go: three faults, all of them mended."""

EXPECT = {"initramfs.driver": "fail", "dracut.hostonly": "fail", "lvm.devicesfile": "fail"}
EXIT = 1
FIX_EXIT = 0
SCREENS = ["check", "fix"]


def build(guest):
    from guest import K1, Image

    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
    guest.devices_file()
    guest.stand_in_dracut()
