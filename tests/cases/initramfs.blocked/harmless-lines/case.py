# SPDX-License-Identifier: MIT
"""A blacklisted dependency, another driver and a comment do not matter."""

EXPECT = {"initramfs.blocked": "pass"}
EXIT = 0


def build(guest):
    guest.image().put("etc/modprobe.d/x.conf",
                      "blacklist nvme_core\nblacklist nvme_fabrics\n#blacklist nvme\noptions nvme poll_queues=4\n")
