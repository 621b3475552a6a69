# SPDX-License-Identifier: MIT
"""What a boot came to, measured against what the guest's own fstab asks for. Knows nothing of the tool."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .disk import Disk
from .guest import FACTS
from .loader import NothingToLoad
from .recipe import VG
from .vm import Boot, Bus, Host, State, boot

QUESTIONS = FACTS + """
step mounts findmnt -rno TARGET
step mappings ls /dev/mapper
step failed systemctl --failed --no-legend --plain
systemctl --quiet is-active emergency.target && step late sh -c 'sleep 20; grep -v "^ *#" /etc/fstab | while read -r spec rest; do case $spec in *=*) findfs "$spec";; *) [ -e "$spec" ];; esac || echo "gone $spec $rest"; done'
"""
_TRIES = 3
_DEVICE_WAIT = 90       # EL's own; emergency mode that came of a starved guest is told apart
_OPTIONAL = {"nofail", "noauto"}


@dataclass(frozen=True)
class Wanted:
    """What a complete boot of this guest has."""

    mounts: tuple[str, ...]
    swaps: int
    vg: bool
    mappings: tuple[str, ...] = ()      # of crypttab

    @classmethod
    def of(cls, root: Path, lvm: bool) -> Wanted:
        mounts, swaps = ["/"], 0
        for fields in _table(root / "etc/fstab"):
            if len(fields) < 3:
                continue
            if fields[2] == "swap":
                swaps += 1
            elif fields[1] not in mounts:
                mounts.append(fields[1])
        return cls(tuple(mounts), swaps, lvm, tuple(fields[0] for fields in _table(root / "etc/crypttab")))


def _table(file: Path) -> list[list[str]]:
    """The lines that are not nofail or noauto, both tables' fourth field."""
    rows = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [row for row in rows if row and not row[0].startswith("#")
            and not (len(row) > 3 and _OPTIONAL & set(row[3].split(",")))]


@dataclass(frozen=True)
class Outcome:
    boots: bool
    state: str
    reason: str
    missing: tuple[str, ...]
    seconds: int

    @classmethod
    def load(cls, data: dict[str, Any]) -> Outcome:
        return cls(**{**data, "missing": tuple(data["missing"])})

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if self.boots:
            return "boots"
        if self.state == State.NORMAL.value:
            return "incomplete: " + ", ".join(self.missing)
        return f"{self.state}: {self.reason}"


def _lines(done: Boot, step: str) -> list[str]:
    return [line.strip() for line in done.steps[step].out.splitlines()] if step in done.steps else []


def _missing(done: Boot, bus: Bus, wanted: Wanted) -> list[str]:
    mounted = set(_lines(done, "mounts"))
    missing = [f"{mount} not mounted" for mount in wanted.mounts if mount not in mounted]
    if len(_lines(done, "swaps")) < wanted.swaps:
        missing.append("swap not on")
    opened = _lines(done, "mappings")
    missing += [f"mapping {name} not open" for name in wanted.mappings if name not in opened]
    disk = "/dev/nvme0n1" if bus is Bus.NVME else "/dev/vda"
    if wanted.vg and not any(line.startswith(disk) and line.split()[1:] == [VG] for line in _lines(done, "pvs")):
        missing.append("pvs shows no PV")
    return missing


def _only_late(done: Boot) -> bool:
    """Emergency mode, and yet every device of fstab is there: the guest was starved and its waits ran out."""
    gone = [line.split() for line in _lines(done, "late") if line.startswith("gone ")]
    needed = [fields for fields in gone if len(fields) < 5 or not _OPTIONAL & set(fields[4].split(","))]
    return done.state is State.EMERGENCY and "late" in done.steps and not needed


def observe(disk: Disk, bus: Bus, wanted: Wanted, logs: Path, host: Host, more: str = "") -> tuple[Outcome, Boot | None]:
    """Boot without leaving a trace on the disk, and say what it came to."""
    for left in reversed(range(_TRIES)):
        try:
            done = boot(disk, bus, QUESTIONS + more, logs, snapshot=True, cpus=1, reach=900, finish=600, host=host,
                        device_wait=_DEVICE_WAIT)
        except NothingToLoad as stop:
            return Outcome(False, State.NO_BOOT.value, f"boot loader: {stop}", (), 0), None
        if not left or not _only_late(done):
            break
    missing = _missing(done, bus, wanted) if done.state is State.NORMAL else []
    return Outcome(done.state is State.NORMAL and not missing, done.state.value, done.reason, tuple(missing),
                   round(done.seconds)), done
