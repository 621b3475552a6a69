# SPDX-License-Identifier: MIT
"""The guests that are measured on. Made anew for each run, with links to the images."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from images import KERNELS, Images
from guest import K1, MACHINE_ID, Guest, write_lsblk

RESCUE = f"0-rescue-{MACHINE_ID}"


@dataclass(frozen=True)
class Tree:
    """A guest on disk, and how the tool is called on it."""

    top: Path
    lsblk: Path

    def command(self, tool: Path, *arguments: str) -> list[str | Path]:
        return [tool, "--root", self.top, "--lsblk", self.lsblk, *arguments]

    def boot_images(self) -> list[Path]:
        return sorted((self.top / "boot").glob("initramfs-*.img"))


def new_guest(top: Path, kernels: Iterable[str], indexes: Path | None) -> Guest:
    """A guest that is ready, its images left to the caller."""
    guest = Guest(top / "root")
    for kernel in kernels:
        if kernel != K1:
            guest.add_kernel(kernel)
        for index in indexes.iterdir() if indexes else ():
            shutil.copyfile(index, guest.path(f"usr/lib/modules/{kernel}/{index.name}"))
    return guest


def finish(guest: Guest) -> Tree:
    guest.finish()
    lsblk = write_lsblk(guest, guest.top.parent / "lsblk.json")
    assert lsblk
    return Tree(guest.top, lsblk)


def guest_with(top: Path, made: Images, packing: str, kernels: Iterable[str], what: str, rescue: bool = False,
               copies: int = 1) -> Tree:
    """One image of that kind for each kernel, and a generic rescue image."""
    guest = new_guest(top, kernels, made.module_indexes())
    guest.images.clear()
    for kernel in kernels:
        made.write(what, packing, kernel, guest.path(f"boot/initramfs-{kernel}.img"), copies)
    if rescue:
        guest.write(f"boot/vmlinuz-{RESCUE}", f"MZ kernel {K1}", 0o755)
        guest.write(f"boot/loader/entries/{MACHINE_ID}-0-rescue.conf",
                    f"title Rocky Linux (0-rescue) 9.5\nversion 0-rescue\nlinux /vmlinuz-{RESCUE}\n"
                    f"initrd /initramfs-{RESCUE}.img\noptions {guest.options()}\n")
        made.write("generic", packing, K1, guest.path(f"boot/initramfs-{RESCUE}.img"))
    return finish(guest)


def busy_guest(top: Path) -> Tree:
    """Three kernels with images of a few files, and forty files of configuration besides its own."""
    guest = new_guest(top, KERNELS, None)
    for number in range(10):
        guest.write(f"etc/dracut.conf.d/{number:02}-site.conf", 'add_drivers+=" xfs "\n# nothing else\n' * 5)
        guest.write(f"etc/modprobe.d/{number:02}-site.conf", f"options dm_mod use_blk_mq={number % 2}\nblacklist floppy\n" * 20)
        guest.write(f"etc/udev/rules.d/{number:02}-site.rules", 'KERNEL=="sd*", GROUP="disk"\n' * 50)
        guest.write(f"etc/systemd/system/site-{number}.mount", "[Unit]\nDescription=site\n[Mount]\nWhat=/dev/mapper/rl-data\n")
    return finish(guest)


# What the cost of one thing grows by. Each makes a guest with so many of them.

def many_files(top: Path, count: int) -> Tree:
    guest = new_guest(top, (K1,), None)
    image = guest.images[K1]
    for number in range(count):
        image.put(f"usr/share/many/{number // 500}/file-{number}", b"data\n")
    return finish(guest)


def many_entries(top: Path, count: int) -> Tree:
    guest = new_guest(top, (K1,), None)
    text = guest.read(f"boot/loader/entries/{MACHINE_ID}-{K1}.conf")
    for number in range(count):
        guest.write(f"boot/loader/entries/{MACHINE_ID}-{K1}.{number}.conf", text)
    return finish(guest)


def many_kernels(top: Path, count: int) -> Tree:
    return finish(new_guest(top, [K1, *(f"5.14.0-{600 + n}.el9.x86_64" for n in range(1, count))], None))


def many_fstab_lines(top: Path, count: int) -> Tree:
    guest = new_guest(top, (K1,), None)
    guest.write("etc/fstab", guest.read("etc/fstab") + "".join(
        f"UUID=55555555-5555-4555-8555-{n:012} /srv/{n} xfs nofail 0 0\n" for n in range(count)))
    return finish(guest)


# 64 kernels are the most that --check looks at.
GROWTH = {"files in an image": (many_files, (500, 5000, 50000)), "boot entries": (many_entries, (3, 30, 300)),
          "kernels with an image each": (many_kernels, (1, 8, 64)), "fstab lines": (many_fstab_lines, (10, 100, 1000))}


def large_image(top: Path, made: Images, packing: str, mebibytes: int) -> Tree:
    """A guest whose only image has about that size: a host-only archive again and again, so that only the bytes grow."""
    copies = max(1, round((mebibytes << 20) / made.member("hostonly", packing).stat().st_size))
    return guest_with(top, made, packing, (K1,), "hostonly", copies=copies)
