# SPDX-License-Identifier: MIT
"""Case 11: /boot has no room for the new image beside the old one; nothing may change."""

EXPECT = {"initramfs.driver": "fail"}
EXIT = 1
FIX_EXIT = 4
SCREENS = ["fix"]


def build(guest):
    from guest import K1, Image

    guest.images[K1] = Image(K1, hostonly=True)
    guest.images[K1].put("usr/share/ballast", random_bytes(3 << 20))
    guest.images[K1].compressor = []
    guest.stand_in_dracut()


def random_bytes(count):
    import random

    return random.Random(1).randbytes(count)


def after_finish(guest):
    """/boot becomes a file system of 4 MiB that the old image nearly fills."""
    import shutil
    import subprocess

    copy = guest.top.parent / "boot-copy"
    shutil.copytree(guest.path("boot"), copy, symlinks=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(guest.path("boot"))], check=True)
    shutil.copytree(copy, guest.path("boot"), symlinks=True, dirs_exist_ok=True)
    shutil.copystat(copy, guest.path("boot"))


def clean_up(guest):
    import subprocess

    subprocess.run(["umount", str(guest.path("boot"))], check=True)
