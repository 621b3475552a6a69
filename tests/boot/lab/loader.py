# SPDX-License-Identifier: MIT
"""The lab's boot loader: its own tiny reader of grubenv and BLS entries, independent of the tool's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .disk import Disk
from .run import LabError


class NothingToLoad(LabError):
    """The loader stops here, as GRUB would: the guest does not boot, on any controller."""


@dataclass(frozen=True)
class Loaded:
    entry: str
    kernel: Path
    initrd: Path | None     # none: the entry names none, or its files are empty
    options: str


def _parse(entry: str) -> dict[str, str]:
    pairs = (line.split(None, 1) for line in entry.splitlines() if line and not line.startswith("#"))
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def load(disk: Disk, into: Path, entry: str | None = None) -> Loaded:
    """What GRUB would boot: the entry saved_entry names, or one whose id contains `entry` (the menu)."""
    ids = [name.removesuffix(".conf") for name in disk.list_boot("/loader/entries") if name.endswith(".conf")]
    if entry is None:
        env = disk.read_boot("/grub2/grubenv", into / "grubenv").read_text()
        saved = re.search(r"^saved_entry=(.*)$", env, re.M)
        if not saved:
            raise LabError("grubenv has no saved_entry")
        wanted = [name for name in ids if name == saved[1]]
    else:
        wanted = [name for name in ids if entry in name]
    if len(wanted) != 1:
        raise NothingToLoad(f"no single boot entry: wanted {entry or 'saved_entry'}, found {wanted} of {ids}")
    keys = _parse(disk.read_boot(f"/loader/entries/{wanted[0]}.conf", into / "entry.conf").read_text())
    return Loaded(
        entry=wanted[0],
        kernel=_read(disk, keys.get("linux", ""), into / "vmlinuz"),
        initrd=_initrd(disk, keys.get("initrd", "").split(), into),
        options=keys.get("options", ""))


def _read(disk: Disk, path: str, to: Path) -> Path:
    directory, _, name = path.rpartition("/")
    if name not in disk.list_boot(directory or "/"):
        raise NothingToLoad(f"file '{path}' not found")
    return disk.read_boot(path, to)


def _initrd(disk: Disk, paths: list[str], into: Path) -> Path | None:
    """All initrds of the entry, one behind the other, as GRUB hands them over."""
    joined, piece = into / "initrd", into / "initrd.piece"
    joined.write_bytes(b"")
    for path in paths:
        try:
            _read(disk, path, piece)
        except NothingToLoad:
            raise
        except LabError:        # debugfs writes nothing for an empty file
            continue
        with joined.open("ab") as file:
            file.write(piece.read_bytes())
    piece.unlink(missing_ok=True)
    if joined.stat().st_size:
        return joined
    joined.unlink()
    return None
