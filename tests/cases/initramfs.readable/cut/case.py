# SPDX-License-Identifier: MIT
"""The image ends in the middle of its compressed data."""

EXPECT = {"initramfs.readable": "fail"}
EXIT = 1


def build(guest):
    pass


def after_finish(guest):
    import os

    from guest import K1, MTIME

    path = guest.path(f"boot/initramfs-{K1}.img")
    path.write_bytes(path.read_bytes()[:-600])
    os.utime(path, (MTIME, MTIME))
