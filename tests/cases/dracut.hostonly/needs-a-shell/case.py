# SPDX-License-Identifier: MIT
"""A configuration that only a shell can evaluate is unknown in a tree, with file and line."""

EXPECT = {"dracut.hostonly": "unknown", "dracut.next-kernel": "unknown"}
EXIT = 3


def build(guest):
    guest.write("etc/dracut.conf.d/zz-nvme.conf", '# by hand\nif [[ -e /etc/nvme ]]; then hostonly="no"; fi\n')
