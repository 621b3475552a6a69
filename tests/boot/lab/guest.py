# SPDX-License-Identifier: MIT
"""What the lab asks a running guest, and how it reads the answers. `step` and `snapshot` are guest/lab-agent's."""

from __future__ import annotations

from dataclasses import dataclass

from .run import LabError
from .vm import Boot, Step

# LVM is asked the way an administrator would: it is part of what READY promises.
FACTS = """
step root findmnt -no SOURCE /
step home findmnt -no SOURCE /home
step swaps swapon --noheadings --show=NAME
step pvs pvs --noheadings -o pv_name,vg_name
step disks lsblk -dno NAME,SERIAL
"""


def step_of(done: Boot, name: str) -> Step:
    if name not in done.steps:
        raise LabError(f"step {name} was not reached: {done.state.value} ({done.reason}), see {done.console}")
    return done.steps[name]


@dataclass(frozen=True)
class Facts:
    root: str
    home: str
    swaps: str
    pvs: str
    disks: str

    @classmethod
    def of(cls, boot: Boot) -> Facts:
        def line(name: str) -> str:
            step = boot.steps.get(name)
            return " ".join(step.out.split()) if step else ""

        return cls(line("root"), line("home"), line("swaps"), line("pvs"), line("disks"))

    def __str__(self) -> str:
        return f"/ on {self.root or '-'}, /home on {self.home or '-'}, pvs: {self.pvs or 'nothing'}"


@dataclass(frozen=True)
class Entry:
    """One path, as far as an undo has to bring it back."""

    kind: str
    mode: str
    owner: str
    mtime: str      # not of directories: a rename beside a file changes it
    link: str
    sha256: str = ""
    xattrs: tuple[str, ...] = ()


def parse_snapshot(text: str) -> dict[str, Entry]:
    """The agent's `snapshot`: find's table, sha256sum's, getfattr's."""
    try:
        found, rest = text.split("@@sha256\n", 1)
        sums, attrs = rest.split("@@xattrs\n", 1)
    except ValueError as bad:
        raise LabError("the guest's snapshot is incomplete") from bad
    hashes = {line[66:]: line[:64] for line in sums.splitlines()}
    xattrs: dict[str, list[str]] = {}
    for block in attrs.split("\n\n"):
        name, _, values = block.strip().partition("\n")
        xattrs[name.removeprefix("# file: ")] = sorted(values.splitlines())
    entries: dict[str, Entry] = {}
    for line in found.splitlines():
        kind, mode, owner, mtime, link, path = line.split("|", 5)
        entries[path] = Entry(kind, mode, owner, "" if kind == "d" else mtime, link,
                              hashes.get(path, ""), tuple(xattrs.get(path, ())))
    if not any(entry.sha256 for entry in entries.values()) or not xattrs.keys() & entries.keys():
        raise LabError("the guest's snapshot has no hashes or no xattrs: it would compare nothing")
    return entries


def differences(before: dict[str, Entry], after: dict[str, Entry]) -> list[str]:
    found = [f"{path}: gone" for path in before.keys() - after.keys()]
    found += [f"{path}: new" for path in after.keys() - before.keys()]
    for path in before.keys() & after.keys():
        one, two = before[path], after[path]
        fields = [name for name in Entry.__dataclass_fields__ if getattr(one, name) != getattr(two, name)]
        if fields:
            found.append(f"{path}: {', '.join(fields)}")
    return sorted(found)
