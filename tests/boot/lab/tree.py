# SPDX-License-Identifier: MIT
"""A guest that is off, mounted for editing: the words that scenarios are written in."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import image as initramfs
from .recipe import Recipe
from .rootfs import kernel_version
from .run import LabError, run

_IN_CHROOT = ('for d in proc sys dev; do mount --rbind "/$d" "$1/$d"; done; mount -t tmpfs none "$1/run"; '
              'mount -t tmpfs none "$1/tmp"; root=$1; shift; exec chroot "$root" "$@"')


@dataclass(frozen=True)
class Tree:
    """Editing verbs. An edit that changes nothing is an error: the scenario would test something else."""

    root: Path
    recipe: Recipe
    tool: Path | None           # for the few scenarios in which the tool has run before
    lsblk: Path | None
    images: Callable[[str], Path]   # host-only images by name, see artefacts.py

    @property
    def kernel(self) -> str:
        return kernel_version(self.root)

    @property
    def image(self) -> Path:
        return self.root / f"boot/initramfs-{self.kernel}.img"

    @property
    def rescue_image(self) -> Path:
        return self.root / f"boot/initramfs-0-rescue-{self.recipe.machine_id}.img"

    @property
    def entry(self) -> Path:
        return self.root / f"boot/loader/entries/{self.recipe.machine_id}-{self.kernel}.conf"

    @property
    def rescue_entry(self) -> Path:
        return self.root / f"boot/loader/entries/{self.recipe.machine_id}-0-rescue.conf"

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def write(self, path: str, text: str) -> None:
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).write_text(text)

    def append(self, path: str, text: str) -> None:
        with self.at(path).open("a") as file:
            file.write(text)

    def replace(self, path: str | Path, old: str, new: str) -> None:
        file = self.at(path) if isinstance(path, str) else path
        text = file.read_text()
        if old not in text:
            raise LabError(f"{file.name}: nothing to replace: {old!r}")
        file.write_text(text.replace(old, new))

    def remove(self, path: str) -> None:
        self.at(path).unlink()

    # The entry's command line.
    def arguments(self, change: Callable[[str], str], entry: Path | None = None) -> None:
        file = entry or self.entry
        text = file.read_text()
        new = re.sub(r"^options (.*)$", lambda match: "options " + change(match[1]), text, flags=re.M)
        if new == text:
            raise LabError(f"{file.name}: its options stayed as they were")
        file.write_text(new)

    def add_arguments(self, words: str, entry: Path | None = None) -> None:
        self.arguments(lambda options: f"{options} {words}", entry)

    def drop_argument(self, word: str) -> None:
        self.arguments(lambda options: " ".join(one for one in options.split() if one != word))

    def drop_resume(self) -> None:
        self.arguments(lambda options: " ".join(one for one in options.split() if not one.startswith("resume=")))

    # LVM.
    def use_devicesfile(self, value: str) -> None:
        """The live assignment of lvm.conf."""
        file = self.at("etc/lvm/lvm.conf")
        text = file.read_text()
        new, count = re.subn(r"^\tuse_devicesfile = .*$", f"\tuse_devicesfile = {value}", text, flags=re.M)
        if count != 1:
            raise LabError(f"lvm.conf: {count} live assignments of use_devicesfile")
        file.write_text(new)

    # The image.
    def use_image(self, name: str) -> None:
        """A ready-made image in place of the default entry's."""
        self.image.write_bytes(self.images(name).read_bytes())

    def use_generic_image(self) -> None:
        self.image.write_bytes(self.rescue_image.read_bytes())

    def add_to_image(self, path: str, text: str) -> None:
        with self.opened_image() as top:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text)

    @contextmanager
    def opened_image(self) -> Iterator[Path]:
        with initramfs.opened(self.image) as top:
            yield top

    def like_el(self) -> None:
        """Debian 12's dracut brings LVM's event activation into the image, EL's does not: without it nothing but
        rd.lvm.* decides what comes up."""
        with self.opened_image() as top:
            for rule in (top / "usr/lib/udev/rules.d").glob("69-*lvm*.rules"):
                rule.unlink()

    def chroot(self, *argv: str, timeout: float = 400) -> str:
        """A program of the guest. Good for generic images; a truthful host-only one needs the running guest."""
        return run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", _IN_CHROOT, "sh", self.root, *argv],
                   timeout=timeout)

    def dracut(self, *options: str) -> None:
        """The default entry's image anew, from the guest's own configuration."""
        self.chroot("dracut", "--force", *options, f"/boot/{self.image.name}", self.kernel)

    def run_tool(self, *options: str) -> None:
        if self.tool is None or self.lsblk is None:
            raise LabError("this scenario needs the tool")
        run([self.tool, "--root", self.root, "--lsblk", self.lsblk, *options], timeout=600)


def make_generic(tree: Tree) -> None:
    """Generic images, today's and the next one."""
    tree.use_generic_image()
    tree.write("etc/dracut.conf.d/99-generic.conf", 'hostonly="no"\n')


def make_ready(tree: Tree) -> None:
    """What an administrator who knows the switch does by hand: generic images, no devices file."""
    make_generic(tree)
    tree.use_devicesfile("0")


def install_tool(root: Path, tool: Path) -> None:
    """Into the guest's /usr, as its package would; /etc and /boot stay what they are."""
    target = root / "usr/sbin/nvme-preflight"
    shutil.copyfile(tool, target)
    os.chmod(target, 0o755)
