#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The power goes at many instants of a --fix; each time the guest boots on virtio and finishes or undoes the run.

One guest runs --fix while every write and flush of its disk is logged (lab/write_log.py); at the end QEMU gets a SIGKILL.
From the log the disk is made as it was at each instant, in two kinds:
  killed  QEMU died: all that the guest had written is there (the host's cache outlives QEMU)
  power   the host died: all up to the guest's last flush, and a random half of what it had written since
The lab's loader, like GRUB, then reads kernel and image off /boot without replaying its journal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lab import cli
from lab.disk import Disk
from lab.guest import Entry, differences, parse_snapshot
from lab.run import LabError, run
from lab.vm import Boot, Bus, PowerCut, State, boot
from lab.write_log import WriteLog

# Words on the disk between which the fix lies. What is written to the journal first tells where it begins to change files.
BEGIN, END = b"power-cut-lab: the fix begins", b"power-cut-lab: the fix has ended"
JOURNAL = b'{"event":"begin"'
KINDS = ("killed", "power")
READS = 75

RECORD = f"""
step before snapshot
echo '{BEGIN.decode()}' >/var/lib/power-cut-lab-1; sync
step fix nvme-preflight --fix --json
echo '{END.decode()}' >/var/lib/power-cut-lab-2; sync
step finished snapshot
sync; sleep 2
step cut true
sleep 600
"""
RECOVER = """
journals() {{ for run in /var/lib/nvme-preflight/2*/; do [ -d "$run" ] && echo "@$run" && cat "$run/journal"; done; true; }}
left() {{ find / /boot -xdev -name '*.nvme-preflight-new'; find /var/lib/nvme-preflight -name staging -o -name lock; true; }}
step journals journals
step left-by-the-cut left
step check nvme-preflight --check --json
step recover nvme-preflight {how} --json
step after snapshot
step journals-after journals
step left left
"""


@dataclass(frozen=True)
class Instant:
    number: int         # writes made so far
    kind: str           # killed or power
    how: str            # --undo or --fix


def spread(low: int, high: int, wanted: int) -> list[int]:
    """So many numbers of low..high, both ends among them where there are two or more."""
    if wanted == 1:
        return [(low + high) // 2]
    return sorted({low + (high - low) * i // (wanted - 1) for i in range(wanted)})


def landmarks(log: WriteLog) -> tuple[int, int, int]:
    """The writes at which the fix begins, begins to change files, and has ended."""
    begin, end = log.find(BEGIN), log.find(END)
    changes = log.find(JOURNAL, begin) if begin is not None else None
    if begin is None or changes is None or end is None:
        raise LabError(f"the log does not hold what it must: begin {begin}, journal {changes}, end {end}")
    return begin, changes, end


def choose(log: WriteLog, wanted: int) -> list[Instant]:
    """A third while images are built, the others where files are changed: far fewer writes, and the ones that count."""
    begin, changes, end = landmarks(log)
    building = max(1, wanted // 3)
    numbers = spread(begin + 1, changes, building) + spread(changes + 1, end, wanted - building)
    # Finishing takes minutes (the images are built anew), undoing seconds: each kind of cut gets both.
    return [Instant(number, KINDS[i % 2], "--fix" if i % 12 in (1, 8) else "--undo")
            for i, number in enumerate(numbers)]


class CutDisk(Disk):
    """Read like GRUB, which verifies no checksum of metadata: between two writes of a group they need not agree."""

    def _debugfs(self, region: str, request: str) -> str:
        return run(["debugfs", "-n", "-R", request, f"{self.image}?offset={self.regions[region].offset}"])


class Cutter:
    """Makes the disk as it was at ever later instants."""

    def __init__(self, log: WriteLog, start: Disk, work: Path) -> None:
        self._log, self._work = log, work
        self._flushed, self._done = start, 0     # what is surely on the medium, as the instants go by

    def _advance(self, to: int) -> None:
        self._log.replay(self._flushed.image, range(self._done, to))
        self._done = max(self._done, to)

    def at(self, instant: Instant) -> Disk:
        flush = self._log.last_flush(instant.number)
        self._advance(flush)
        since = list(range(flush, instant.number))
        if instant.kind == "power":
            since = [number for number in since if random.Random(f"{instant}{number}").random() < 0.5]
        disk = self._flushed.clone(self._work / "cut.raw")
        self._log.replay(disk.image, since)
        return CutDisk(disk.image, disk.regions)

    def all(self) -> Disk:
        self._advance(len(self._log.writes))
        return self._flushed

    def end(self) -> None:
        self._flushed.image.unlink()


def events(boot_: Boot, step: str) -> dict[str, list[dict]]:
    """Each run's journal; a last line that was cut is no line."""
    runs: dict[str, list[dict]] = {}
    for block in boot_.steps[step].out.split("@")[1:] if step in boot_.steps else []:
        name, _, text = block.partition("\n")
        runs[name.rstrip("/").rsplit("/", 1)[1]] = [json.loads(line) for line in text.split("\n")[:-1]]
    return runs


def unfinished(runs: dict[str, list[dict]]) -> list[str]:
    def last_state(journal: list[dict]) -> str:
        return next((event["state"] for event in reversed(journal) if event["event"] == "state"), "undoing")
    return [name for name, journal in runs.items() if last_state(journal) == "undoing"]


def phase(runs: dict[str, list[dict]]) -> str:
    if not runs:
        return "no run yet"
    journal = next(iter(runs.values()))
    if not journal:
        return "building"
    if journal[-1]["event"] == "state":
        return journal[-1]["state"]
    files, placed = (sum(event["event"] == kind for event in journal) for kind in ("file", "place"))
    return f"{files} backed up, {placed} being placed"


def timeless(snapshot: dict[str, Entry], rebuilt: set[str]) -> dict[str, Entry]:
    """What a second --fix must bring out as the first did: dracut makes other bytes each time."""
    return {path: Entry(entry.kind, entry.mode, entry.owner, "", entry.link,
                        "" if path in rebuilt else entry.sha256, entry.xattrs) for path, entry in snapshot.items()}


def complaints(done: Boot, instant: Instant, before: dict[str, Entry], finished: dict[str, Entry],
               rebuilt: set[str]) -> list[str]:
    if done.state is not State.NORMAL:
        return [f"does not boot: {done.state.value} ({done.reason})"]
    missing = {"check", "recover", "after", "left"} - done.steps.keys()
    if missing:
        return [f"steps not reached: {' '.join(sorted(missing))}"]
    found = []
    open_runs = unfinished(events(done, "journals"))
    check, recover = done.steps["check"], done.steps["recover"]
    if ("interrupted" in check.err) != bool(open_runs):
        found.append(f"unfinished: {open_runs}, but --check said {check.err!r}")
    if check.rc not in (0, 1):
        found.append(f"--check: exit {check.rc}\n{check.err[-500:]}")
    if recover.rc != 0:
        found.append(f"{instant.how}: exit {recover.rc}\n{(recover.err or recover.out)[-1500:]}")
    if still := unfinished(events(done, "journals-after")):
        found.append(f"still unfinished: {still}")
    if done.steps["left"].out.strip():
        found.append(f"left behind: {done.steps['left'].out.split()}")
    after = parse_snapshot(done.steps["after"].out)
    found += (differences(before, after) if instant.how == "--undo"
              else differences(timeless(finished, rebuilt), timeless(after, rebuilt)))
    return found


def stand_in_for_dracut(disk: Disk) -> None:
    """Minutes become seconds: the rescue image is what a generic one of that kernel would be."""
    with disk.mounted() as root:
        dracut = root / "usr/bin/dracut"
        dracut.write_text('#!/bin/bash\nexec cp /boot/initramfs-0-rescue-*.img "${@: -2:1}"\n')
        dracut.chmod(0o755)


def record(lab: cli.Lab, stand_in: bool) -> tuple[Boot, Disk, WriteLog]:
    for _ in range(3):                  # a boot that writes is not tried again by boot() itself
        disk = lab.clone("guest")
        lab.install_tool(disk)
        if stand_in:
            stand_in_for_dracut(disk)
        start = disk.clone(lab.work / "flushed.raw")
        lab.table.say("one --fix in the guest, every write logged")
        done = boot(disk, Bus.VIRTIO, RECORD, lab.logs / "fix", finish=2400, cut=PowerCut(lab.work / "writes.log", "cut"))
        if done.state is State.NORMAL:
            break
    if "cut" not in done.steps or done.steps["fix"].rc != 0:
        raise LabError(f"the fix that was to be cut did not end well: {done.state.value} ({done.reason}), "
                       f"{done.steps['fix'].err[-1500:] if 'fix' in done.steps else ''} see {done.console}")
    log = WriteLog(lab.work / "writes.log")
    # The proof that the log is the disk, and with it the one instant at which QEMU was really killed.
    cutter = Cutter(log, start.clone(lab.work / "all.raw"), lab.work)
    same = run(["sh", "-c", 'cmp "$1" "$2" || true', "sh", disk.image, cutter.all().image]) == ""
    cutter.end()
    lab.table.row(same, "the log is the disk that the killed QEMU left", f"{len(log.writes)} writes, "
                  f"{sum(w.size for w in log.writes) >> 20} MiB, {sum(w.flush for w in log.writes)} flushes, "
                  f"--fix took {done.steps['fix'].seconds} s")
    return done, start, log


def seen_by_loader(fix: Boot) -> list[str]:
    """What a boot loader reads of the default entry, and whatever else the fix changed on /boot."""
    report = json.loads(fix.steps["fix"].out)
    entry = next(entry for entry in report["entries"] if entry["default"])
    paths = {f"/boot/loader/entries/{entry['id']}.conf", f"/boot/vmlinuz-{entry['kernel']}", "/boot/grub2/grubenv",
             *entry["initrd"], *report["fix"]["changed"]}
    return sorted(path for path in paths if path.startswith("/boot/"))


def misread(disk: Disk, wanted: dict[str, set[str]], scratch: Path) -> list[str]:
    """Files that are neither the old nor the new ones to a reader that replays no journal."""
    found = []
    for path, hashes in wanted.items():
        try:
            content = disk.read_boot(path.removeprefix("/boot"), scratch).read_bytes()
        except LabError:
            found.append(f"{path}: nothing to read")
            continue
        if hashlib.sha256(content).hexdigest() not in hashes:
            found.append(f"{path}: neither old nor new, {len(content)} bytes")
    return found


def read_at_many(lab: cli.Lab, fix: Boot, start: Disk, log: WriteLog, wanted: int) -> None:
    """Without a boot: /boot as a loader finds it, at many more instants."""
    snapshots = [parse_snapshot(fix.steps[name].out) for name in ("before", "finished")]
    hashes = {path: {snapshot[path].sha256 for snapshot in snapshots} for path in seen_by_loader(fix)}
    _, changes, end = landmarks(log)
    cutter = Cutter(log, start.clone(lab.work / "read.raw"), lab.work)
    failed, tried = Counter(), 0
    for number in spread(changes, end, wanted):
        for kind in KINDS:
            disk = cutter.at(Instant(number, kind, ""))
            found = misread(disk, hashes, lab.work / "read")
            disk.image.unlink()
            tried += 1
            failed[kind] += bool(found)
            for line in found if failed[kind] <= 3 else ():
                lab.table.say(f"{kind} at write {number}: {line}")
    cutter.end()
    lab.table.row(not failed.total(), "read as a boot loader does", f"{tried} instants, {len(hashes)} files, failures: "
                  + ", ".join(f"{failed[kind]} {kind}" for kind in KINDS))


def try_instant(lab: cli.Lab, cutter: Cutter, instant: Instant, name: str, fix: Boot) -> tuple[bool, str]:
    rebuilt = {path for path in json.loads(fix.steps["fix"].out)["fix"]["changed"] if path.endswith(".img")}
    disk = cutter.at(instant)
    try:
        done = boot(disk, Bus.VIRTIO, RECOVER.format(how=instant.how), lab.logs / name, snapshot=True, cpus=1, reach=900,
                    finish=2400)
    except LabError as bad:             # the loader found no entry, kernel or image
        found, saw, said = [f"the loader stops: {bad}"], "-", "-"
    else:
        found = complaints(done, instant, parse_snapshot(fix.steps["before"].out),
                           parse_snapshot(fix.steps["finished"].out), rebuilt)
        saw = phase(events(done, "journals"))
        said = done.steps["check"].err if "check" in done.steps else ""
        said = "interrupted" if "interrupted" in said else said.strip() or "nothing"
    finally:
        disk.image.unlink()
    lab.table.row(not found, f"{name} {instant.kind} at write {instant.number}",
                  f"{saw}; --check says {said}; {instant.how}: "
                  + ("as promised" if not found else "".join(f"\n      {line}" for line in found)))
    return not found, saw


def cut(lab: cli.Lab, wanted: int, stand_in: bool) -> None:
    """Cut the power at many instants of a --fix."""
    fix, start, log = record(lab, stand_in)
    read_at_many(lab, fix, start, log, READS)
    cutter = Cutter(log, start, lab.work)
    instants, failures, phases = choose(log, wanted), 0, Counter()
    for number, instant in enumerate(instants):
        ok, saw = try_instant(lab, cutter, instant, f"cut-{number + 1:02}", fix)
        failures += not ok
        phases[re.sub(r"\d+", "N", saw)] += 1
    print(f"power cuts: {len(instants)} ({', '.join(f'{n} x {what}' for what, n in sorted(phases.items()))}), "
          f"failures: {failures}", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--instants", type=int, default=24)
    options.add_argument("--stand-in", action="store_true", help="the guest's dracut gives a ready-made image")
    mine, others = options.parse_known_args()
    sys.exit(cli.main("power_cut", lambda lab: cut(lab, mine.instants, mine.stand_in), needs_tool=True, argv=others))
