#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the sample guest of packaging/quickstart: a Rocky Linux 9 tree as it is installed, with a
host-only image, a devices file made on virtio-blk, and a stand-in for dracut.

usage: sample_guest.py FOLDER   (makes FOLDER/root and FOLDER/lsblk.json)
"""

import sys
from pathlib import Path

from guest import K1, Guest, Image, write_lsblk


def main() -> None:
    folder = Path(sys.argv[1])
    guest = Guest(folder / "root")
    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0\n", "\t# use_devicesfile = 1\n")
    guest.devices_file()
    guest.stand_in_dracut()
    guest.finish()
    write_lsblk(guest, folder / "lsblk.json")


if __name__ == "__main__":
    main()
