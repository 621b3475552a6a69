# SPDX-License-Identifier: MIT
"""An lzo image cannot be read here: never a pass, never "absent"."""

EXPECT = {"initramfs.readable": "unknown", "initramfs.driver": "unknown"}
EXIT = 3


def build(guest):
    pass


def after_finish(guest):
    import os

    from guest import K1, MTIME

    path = guest.path(f"boot/initramfs-{K1}.img")
    path.write_bytes(b"\x89LZO\x00\x0d\x0a\x1a\x0a" + bytes(5000))
    os.utime(path, (MTIME, MTIME))
