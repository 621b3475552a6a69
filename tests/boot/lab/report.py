# SPDX-License-Identifier: MIT
"""The table: prediction beside boot, the confusion matrix, and everything that does not agree."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .predict import differences
from .records import Record, Store


class Place(Enum):
    """Where a row counts."""

    MATRIX = "counted"
    DECLINED = "declined"       # not a guest that is rehearsed: the tool says so and predicts nothing
    OUTSIDE = "outside"         # the host changes more than the controller, which the promise excludes
    WARNED = "as warned"        # ready, it boots on NVMe, and what does not work is the warning's: the way back
    UNKNOWN = "unknown"         # could not tell, and said so
    OPEN = "not measured"


def outcome(record: Record) -> bool | None:
    """Whether all came true that READY promises, as far as it was observed; None: not booted on NVMe."""
    if record.nvme is None:
        return None
    return all(one.boots for one in (record.nvme, record.next_kernel, record.virtio) if one is not None)


def place_of(record: Record) -> Place:
    if record.offline is None or outcome(record) is None:
        return Place.OPEN
    if record.offline.failing == ("guest.supported",):
        return Place.DECLINED
    if record.scenario.changes_host:
        return Place.OUTSIDE
    # A disk without the removable loader, on a host that forgets its NVRAM, boots on no controller.
    if (record.scenario.host.firmware and record.nvme and not record.nvme.boots and record.virtio
            and not record.virtio.boots and "firmware.loader" in record.offline.warning):
        return Place.OUTSIDE
    if (record.nvme and record.nvme.boots and record.virtio and not record.virtio.boots
            and "initramfs.way-back" in record.offline.warning):
        return Place.WARNED
    if record.offline.verdict == "unknown" and (record.live is None or record.live.verdict == "unknown"):
        return Place.UNKNOWN
    return Place.MATRIX


def verdict_of(record: Record) -> str:
    """Live where offline could not tell, or goes by what EL's programs do and the stand-in's differ."""
    if record.offline and record.live and (record.offline.verdict == "unknown" or record.scenario.standin):
        return record.live.verdict
    return record.offline.verdict if record.offline else "-"


def trouble_of(record: Record, offline_only: bool) -> list[str]:
    """What contradicts what in this row."""
    found: list[str] = []
    if place_of(record) is Place.MATRIX and (verdict_of(record) == "ready") != outcome(record):
        found.append(f"predicted {verdict_of(record)}, but it {'boots' if outcome(record) else 'does not boot'}")
    if offline_only:
        return found
    if record.live and record.offline and not record.scenario.standin:
        found += [f"live and offline: {text}" for text in differences(record.live, record.offline)[0]]
    return found + fix_trouble(record)


def fix_trouble(record: Record) -> list[str]:
    if not record.fix or record.fixed is None:
        return []
    if record.fixed.verdict != "ready":
        # Faults that nothing mends automatically stay, and --fix then says so.
        return [f"--fix said ready, the next check says {record.fixed}"] if record.fix["exit"] == 0 else []
    found = [] if record.fix["exit"] == 0 else [f"--fix: exit {record.fix['exit']} although it is ready now"]
    for where, one in (("NVMe", record.fixed_nvme), ("virtio", record.fixed_virtio)):
        if one is not None and not one.boots:
            found.append(f"fixed, but on {where}: {one}")
    if record.fixed_live and record.fixed_live.verdict != "ready":
        found.append(f"fixed, but live: {record.fixed_live}")
    return found


def _observed(record: Record) -> str:
    if record.nvme is None:
        return "-"
    text = str(record.nvme)
    if record.next_kernel is not None:
        text += f"; next kernel: {record.next_kernel}"
    if record.virtio is not None and (not record.virtio.boots or record.nvme.boots):
        text += "; virtio: " + str(record.virtio)
    return text


def _fix_text(record: Record) -> str:
    if not record.fix or record.fixed is None:
        return ""
    if record.fixed.verdict != "ready":
        return f"exit {record.fix['exit']}: still {record.fixed}"
    return f"{' '.join(record.fix['fixes'])} in {record.fix['in']}: NVMe {record.fixed_nvme or '-'}, virtio {record.fixed_virtio or '-'}"


@dataclass
class Table:
    records: Sequence[Record]
    store: Store
    offline_only: bool = False

    def disagreements(self) -> list[str]:
        return [f"{record.scenario.name}: {text}" for record in self.records
                for text in trouble_of(record, self.offline_only)]

    def gaps(self, stages: Sequence[str]) -> list[str]:
        """Asked for, and not measured."""
        found: list[str] = []
        for record in self.records:
            ready = record.offline is not None and record.offline.verdict != "not-ready"
            lacking = [name for name, stage, there in (
                ("live prediction", "live", record.live), ("boot on NVMe", "nvme", record.nvme),
                ("boot on virtio", "virtio", record.virtio or not ready),
                ("next kernel", "next", record.next_kernel or not (
                    record.nvme and record.nvme.boots and place_of(record) not in (Place.DECLINED, Place.OUTSIDE)
                    and (record.scenario.next or not ready))),
                ("boots after --fix", "fix", not (record.fixed and record.fixed.verdict == "ready")
                 or (record.fixed_nvme and record.fixed_virtio)),
                ("--fix", "fix", record.fix or ready or not (record.offline and record.offline.fixes)),
            ) if stage in stages and not there]
            found += [f"{record.scenario.name}: {name}" for name in lacking]
        return found

    def matrix(self) -> Counter[tuple[str, bool]]:
        return Counter((verdict_of(record), bool(outcome(record))) for record in self.records
                       if place_of(record) is Place.MATRIX)

    def summary(self) -> list[str]:
        cells = self.matrix()
        lines = ["| predicted | boots | does not |", "|---|---|---|"]
        for verdict in ("ready", "not-ready"):
            lines.append(f"| {verdict} | {cells[verdict, True]} | {cells[verdict, False]} |")
        lines += ["", f"False ready: {cells['ready', False]}. False not-ready: {cells['not-ready', True]}."]
        places = Counter(place_of(record) for record in self.records)
        lines.append("Rows: " + ", ".join(f"{places[place]} {place.value}" for place in Place if places[place]) + ".")
        return lines

    def rows(self) -> list[tuple[str, ...]]:
        out: list[tuple[str, ...]] = []
        for record in self.records:
            trouble = trouble_of(record, self.offline_only)
            verdict = "NO: " + "; ".join(trouble) if trouble else (
                "yes" if place_of(record) is Place.MATRIX else place_of(record).value)
            out.append((record.scenario.name, record.scenario.guest, verdict_of(record),
                        " ".join(record.offline.failing if record.offline else ()), _observed(record),
                        _fix_text(record), verdict))
        return out

    def text(self) -> str:
        lines = [""]
        for name, guest, verdict, failing, observed, fix, agree in self.rows():
            lines.append(f"{'ok  ' if not agree.startswith('NO') else 'FAIL'}  {name} ({guest})")
            lines.append(f"        predicted {verdict}{f' ({failing})' if failing else ''}; NVMe: {observed}; {agree}")
            if fix:
                lines.append(f"        --fix {fix}")
        lines += ["", *self.summary(), ""]
        bad = self.disagreements()
        lines += [f"DISAGREES  {text}" for text in bad]
        lines.append(f"{len(self.records)} scenarios, {len(bad)} disagreements")
        return "\n".join(lines)

    def _notes(self) -> list[str]:
        notes: list[str] = []
        for record in self.records:
            name = record.scenario.name
            if place_of(record) in (Place.OUTSIDE, Place.DECLINED, Place.WARNED, Place.UNKNOWN, Place.OPEN):
                why = {Place.OUTSIDE: "the host changes more than the controller, or boots it on no controller",
                       Place.DECLINED: "not a guest that is rehearsed: the tool declines",
                       Place.WARNED: "boots on NVMe, and not on the old controller, which initramfs.way-back warns of",
                       Place.UNKNOWN: f"could not tell ({' '.join(record.offline.unknown) if record.offline else ''})",
                       Place.OPEN: "not measured in this run"}[place_of(record)]
                notes.append(f"- {name}: {why}.")
            if record.live and record.offline:
                contradictions, untold = differences(record.live, record.offline)
                if untold:
                    notes.append(f"- {name}: live {record.live.verdict}; offline could not tell {' '.join(untold)}.")
                if contradictions and record.scenario.standin:
                    notes.append(f"- {name}: live {record.live}, offline {record.offline}: {record.scenario.standin}")
        return notes

    def markdown(self, total: int) -> str:
        dates = sorted({record.date for record in self.records if record.date})
        minutes = sum(sum(record.seconds.values()) for record in self.records) // 60
        boots = sum(one is not None for record in self.records for one in (
            record.nvme, record.virtio, record.next_kernel, record.fixed_nvme, record.fixed_virtio))
        builds = Counter(record.predicted_key.rpartition("-")[2][:8] for record in self.records if record.offline)
        lines = [
            "<!-- SPDX-License-Identifier: MIT -->", "# The truth table: the last run", "",
            "Written by `tests/boot/truth_table.py --results`; what a row means is in README.md.", "",
            f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {self.store.tool_version}, {_qemu()}; "
            f"{len(self.records)} of {total} scenarios, {boots} boots of one guest each, {minutes} minutes of guests "
            "(several run side by side). Predictions by tool build: "
            + ", ".join(f"{count} by {build}" for build, count in builds.most_common()) + ".", "", *_versions(), "", "## Confusion matrix", "", *self.summary(), "",
            "## Scenarios", "",
            "| scenario | guest | predicted | failing checks | what booted | after --fix | seconds | agree |",
            "|---|---|---|---|---|---|---|---|"]
        for record, row in zip(self.records, self.rows()):
            name, guest, verdict, failing, observed, fix, agree = (cell.replace("|", "\\|") for cell in row)
            lines.append(f"| {name} | {guest} | {verdict} | {failing} | {observed} | {fix} | "
                         f"{record.nvme.seconds if record.nvme else '-'} | {agree} |")
        missing = self.gaps(("live", "nvme", "next", "fix", "virtio"))
        lines += ["", "## Notes", "", *(self._notes() or ["- none"]), "", "## Not measured", "",
                  *([f"- {text}" for text in missing] or ["- nothing"]), "", "## What was changed", ""]
        lines += [f"- {record.scenario.name}: {record.scenario.about}" for record in self.records]
        return "\n".join(lines) + "\n"


def _qemu() -> str:
    if shutil.which("qemu-system-x86_64") is None:
        return "QEMU"
    out = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    return out.splitlines()[0].split("(")[0].strip() if out else "QEMU"


def _versions() -> list[str]:
    return ["Guests: el10 is Debian 13 (kernel 6.12, dracut 106, lvm2 2.03.31), el9 is Debian 12 (kernel 6.1, dracut 059, "
            "lvm2 2.03.16), both dressed as EL; accelerator TCG."]
