# SPDX-License-Identifier: MIT
"""Case 12: everything that is called nvme is there, except the driver."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1


def build(guest):
    image = guest.image()
    image.drop_module("kernel/drivers/nvme/host/nvme.ko.xz")
    image.put(image.module("kernel/drivers/nvme/host/nvme-tcp.ko.xz"), b"module")
    image.put("usr/lib/modprobe.d/nvme.conf", "options nvme poll_queues=4\n")
    image.put("usr/lib/udev/rules.d/71-nvmf.rules", 'ACTION=="change", SUBSYSTEM=="nvme"\n')
    image.put("usr/lib/dracut/build-parameter.txt", "--add-drivers nvme\n")
