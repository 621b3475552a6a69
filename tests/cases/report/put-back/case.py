# SPDX-License-Identifier: MIT
"""dracut builds the image without nvme all the same: nothing is changed, and its last words are shown."""

EXPECT = {"initramfs.driver": "fail", "dracut.hostonly": "fail"}
EXIT = 1
FIX_EXIT = 5
SCREENS = ["fix"]


def build(guest):
    from guest import K1, Image

    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.stand_in_dracut()
    guest.write("usr/bin/dracut", STUBBORN, 0o755)


# The version is the last argument, the image's path the one before it.
STUBBORN = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
echo "dracut: Executing for $2"
cp "/usr/share/stand-in/hostonly-$2.img" "$1"
echo "dracut: *** Creating initramfs image file '$1' done ***"
"""
