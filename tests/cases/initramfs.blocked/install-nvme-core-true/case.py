# SPDX-License-Identifier: MIT
"""install nvme_core /bin/true: the dependency is never loaded."""

EXPECT = {"initramfs.blocked": "fail"}
EXIT = 1


def build(guest):
    guest.image().put("usr/lib/modprobe.d/x.conf", "install nvme_core /bin/true\n")
