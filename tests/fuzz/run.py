#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the libFuzzer targets one after the other and prints what they did, a row for each.

Each starts from its committed corpus and what WORK/<target> holds of earlier runs; what it finds goes
there, crashes to WORK/crash-*. The seconds are those of a processor: on a busy machine a run takes longer.
Exit 1 when a target found something.

usage: run.py --build BUILD --work FOLDER --seconds N [TARGET..]
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONG_INPUTS = {"image": 16384, "checks": 16384, "decompress": 16384}


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_once(target: str, options: argparse.Namespace, seconds: int) -> tuple[int, str]:
    """For that many seconds of a clock; libFuzzer has no other limit."""
    found = options.work / target
    found.mkdir(parents=True, exist_ok=True)
    # The limit of one input is by the clock: short, it finds nothing but a busy machine.
    command = [options.build / f"tests/fuzz/fuzz_{target}", found, HERE / "corpus" / target,
               f"-max_total_time={seconds}", f"-max_len={LONG_INPUTS.get(target, 4096)}",
               "-timeout=300", "-rss_limit_mb=2048", "-print_final_stats=1",
               f"-artifact_prefix={options.work}/crash-{target}-"]
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    return done.returncode, done.stderr.decode("utf-8", "backslashreplace")


def run(target: str, options: argparse.Namespace) -> bool:
    before = cpu_seconds()
    executions, coverage, code = 0, "?", 0
    while code == 0 and (left := options.seconds - (cpu_seconds() - before)) > 0:
        code, log = run_once(target, options, max(20, int(left)))
        (options.work / f"{target}.log").write_text(log)
        executed = re.search(r"stat::number_of_executed_units: (\d+)", log)
        executions += int(executed[1]) if executed else 0
        coverage = (re.findall(r" cov: (\d+)", log) or ["?"])[-1]
    print(f"| {target} | {cpu_seconds() - before:.0f} | {executions} | {coverage} "
          f"| {'none' if code == 0 else 'FOUND'} |", flush=True)
    return code == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--seconds", required=True, type=int)
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    targets = options.targets or sorted(path.stem for path in (HERE / "targets").glob("*.cpp"))
    print("| target | CPU seconds | executions | coverage | crashes |\n|---|---|---|---|---|")
    results = [run(target, options) for target in targets]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
