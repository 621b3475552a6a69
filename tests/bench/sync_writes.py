#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nvme-preflight --measure beside dd oflag=dsync and fio, on the same directory: prints what each says.

Times decide nothing here: the exit code tells only whether all of them could be run.
usage: sync_writes.py --tool PATH [DIR]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WRITES = 2000
LIMIT = 120


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)


def ours(tool: str, directory: str) -> dict[str, float]:
    record = json.loads(run(tool, "--measure", directory, "--json").stdout)
    return {f"nvme-preflight {how}": record[how]["writes"] * 1e9 / record[how]["total_ns"]
            for how in ("dsync", "fdatasync")}


def dd(directory: str) -> dict[str, float]:
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        said = run("dd", "if=/dev/zero", f"of={file.name}", "bs=4k", f"count={WRITES}", "oflag=dsync").stderr
    return {"dd oflag=dsync": WRITES / float(re.search(r"copied, ([\d.e-]+) s", said)[1])}


def fio(directory: str, how: str) -> dict[str, float]:
    sync = "--sync=dsync" if how == "dsync" else "--fdatasync=1"
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        said = run("fio", "--name=sync", f"--directory={scratch}", "--rw=write", "--bs=4k", f"--size={WRITES * 4}k",
                   sync, "--ioengine=psync", "--fallocate=none", "--output-format=json").stdout
    return {f"fio {how}": json.loads(said)["jobs"][0]["write"]["iops"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=Path)
    parser.add_argument("directory", nargs="?", default="/var/tmp")
    options = parser.parse_args()
    rounds = [ours(str(options.tool.resolve()), options.directory) | dd(options.directory)
              | fio(options.directory, "dsync") | fio(options.directory, "fdatasync") for _ in range(3)]
    print(f"{'IOPS of 4 KiB sync writes, three interleaved rounds':<54}")
    for name in rounds[0]:
        print(f"  {name:<28}" + "".join(f"{one[name]:>10.0f}" for one in rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
