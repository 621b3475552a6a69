# SPDX-License-Identifier: MIT
"""--keep-hostonly: the images stay host-only, with nvme by name; the fix says what that gives up."""

from guest import K1, Image

EXPECT = {"dracut.hostonly": "fail", "initramfs.driver": "fail"}
EXIT = 1
FIX_OPTIONS = ["--keep-hostonly"]
FIX_EXIT = 0
FIX_SAYS = ["Given up is every other controller"]
FIXED = {"dracut.hostonly": "warn", "dracut.next-kernel": "pass", "initramfs.driver": "pass"}


def build(guest):
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.images[K1] = Image(K1, hostonly=True)
    guest.stand_in_dracut()
