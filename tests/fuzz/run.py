#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the libFuzzer targets one after the other and prints what they did, a row for each.

Each starts from its committed corpus; what it finds goes to WORK/<target>, crashes to WORK/crash-*.
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


def run(target: str, options: argparse.Namespace) -> bool:
    found = options.work / target
    found.mkdir(parents=True, exist_ok=True)
    before = cpu_seconds()
    command = [options.build / f"tests/fuzz/fuzz_{target}", found, HERE / "corpus" / target,
               f"-max_total_time={options.seconds}", f"-max_len={LONG_INPUTS.get(target, 4096)}",
               "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1",
               f"-artifact_prefix={options.work}/crash-{target}-"]
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    log = done.stderr.decode("utf-8", "backslashreplace")
    (options.work / f"{target}.log").write_text(log)
    executed = re.search(r"stat::number_of_executed_units: (\d+)", log)
    coverage = re.findall(r" cov: (\d+)", log)
    print(f"| {target} | {cpu_seconds() - before:.0f} | {executed[1] if executed else '?'} "
          f"| {coverage[-1] if coverage else '?'} | {'none' if done.returncode == 0 else 'FOUND'} |", flush=True)
    return done.returncode == 0


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
