# SPDX-License-Identifier: MIT
"""What is known of each scenario, kept in one JSON file each, so that a run can be interrupted and go on.

Outcomes of the guest as the scenario left it are keyed by scenario and base guest. What the tool said, and what came of its
fix, is keyed by the tool besides: another tool is asked again, and measured against the same outcomes.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .observe import Outcome
from .predict import Prediction
from .scenario import Scenario


def today() -> str:
    return datetime.date.today().isoformat()


@dataclass
class Record:
    scenario: Scenario
    observed_key: str
    predicted_key: str
    date: str = ""
    seconds: dict[str, int] = field(default_factory=dict)
    # of the guest
    nvme: Outcome | None = None
    virtio: Outcome | None = None
    next_kernel: Outcome | None = None      # the image as the next kernel package makes it, on NVMe
    # of the tool
    offline: Prediction | None = None
    live: Prediction | None = None
    fix: dict[str, Any] | None = None       # how, exit, changed
    fixed: Prediction | None = None
    fixed_live: Prediction | None = None
    fixed_nvme: Outcome | None = None
    fixed_virtio: Outcome | None = None


_OBSERVED: dict[str, Any] = {"nvme": Outcome, "virtio": Outcome, "next_kernel": Outcome}
_PREDICTED: dict[str, Any] = {"offline": Prediction, "live": Prediction, "fixed": Prediction, "fixed_live": Prediction,
              "fixed_nvme": Outcome, "fixed_virtio": Outcome}


def _fill(record: Record, data: dict[str, Any], kinds: dict[str, Any]) -> None:
    if not data.get("seconds"):
        return
    record.date, record.seconds = data["date"], data["seconds"]
    if "fixed" in kinds:
        record.fix = data.get("fix")
    for name, kind in kinds.items():
        if data.get(name):
            setattr(record, name, kind.load(data[name]))


class Store:
    def __init__(self, directory: Path, tool: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._tool = hashlib.sha256(tool.read_bytes()).hexdigest()[:16]
        self.tool_version = subprocess.run([str(tool), "--version"], capture_output=True, text=True, timeout=30,
                                           check=False).stdout.strip()
        self._records: dict[str, Record] = {}
        self._lock = threading.Lock()

    def forget(self, scenarios: Iterable[Scenario]) -> None:
        for one in scenarios:
            (self._directory / f"{one.name}.json").unlink(missing_ok=True)

    def open(self, scenario: Scenario, ground: str) -> Record:
        key = scenario.key(ground)
        record = Record(scenario, key, f"{key}-{self._tool}")
        self._records[scenario.name] = record
        file = self._directory / f"{scenario.name}.json"
        if not file.exists():
            return record
        data = json.loads(file.read_text())
        if data["observed_key"] == key:
            _fill(record, data, _OBSERVED)
        if data["predicted_key"] == record.predicted_key:
            _fill(record, data, _PREDICTED)
        return record

    def assemble(self, scenario: Scenario) -> Record:
        """Whatever is recorded, by whichever build of the tool: the table says so."""
        file = self._directory / f"{scenario.name}.json"
        data = json.loads(file.read_text()) if file.exists() else {"observed_key": "", "predicted_key": ""}
        record = Record(scenario, data["observed_key"], data["predicted_key"])
        _fill(record, data, _OBSERVED | _PREDICTED)
        self._records[scenario.name] = record
        return record

    def of(self, scenario: Scenario) -> Record:
        return self._records[scenario.name]

    def save(self, record: Record) -> None:
        data: dict[str, Any] = {"scenario": record.scenario.name, "observed_key": record.observed_key,
                                "predicted_key": record.predicted_key, "date": record.date or today(),
                                "seconds": record.seconds, "fix": record.fix}
        for name in (*_OBSERVED, *_PREDICTED):
            value = getattr(record, name)
            data[name] = value.dump() if value is not None else None
        record.date = data["date"]
        with self._lock:
            file = self._directory / f"{record.scenario.name}.json"
            new = file.with_suffix(".new")
            new.write_text(json.dumps(data, indent=1) + "\n")
            new.rename(file)
