# SPDX-License-Identifier: MIT
"""The next kernel's entry is made from /etc/kernel/cmdline, its image with dracut's kernel_cmdline."""

EXPECT = {"dracut.next-kernel": ["fail", "fail"], "initramfs.blocked": "pass"}
EXIT = 1


def build(guest):
    guest.write("etc/dracut.conf.d/site.conf", 'kernel_cmdline="rd.driver.blacklist=nvme"\n')
    guest.write("etc/kernel/cmdline", guest.options() + " modprobe.blacklist=nvme\n")
