#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What of the benchmark can be asserted without a clock: it writes every row, and --check reads each image once, runs no
program, makes no file; the package is small.

usage: without_time.py --tool PATH
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bench
import guests
import images
import traced
from tally import Tally, skip

# Every target that tiny inputs can be measured against (times are measured and judged, but fail nothing).
ROWS = {
    **{name: 2 for name in ("gzip, one image", "xz, one image", "zstd, one image")},
    **{name: 1 for name in ("gzip, four images", "xz, four images", "zstd, four images", "the rest of --check",
                            "start-up", "peak memory of --check", "--fix with nothing to do", "images are read once each",
                            "external commands", "files that --check makes", "stripped binary", "what the package holds")},
    **{f"{name}: {what}": 1 for name in images.PACKINGS for what in ("CPU per byte", "peak memory")},
    **{f"more {name}": 1 for name in guests.GROWTH},
}
SIZE_ROW = "what the package holds"
LIMIT = 600


def all_rows(tally: Tally, tool: Path, scratch: Path) -> None:
    results = scratch / "RESULTS.md"
    done = subprocess.run([sys.executable, Path(bench.__file__), "--tool", tool, "--tiny", "--rounds", "1", "--cache",
                           scratch, "--results", results], capture_output=True, text=True, timeout=LIMIT, check=False)
    tally.same("bench.py ends well", done.returncode, 0, done.stdout[-1000:] + done.stderr[-2000:])
    if done.returncode:
        return
    text = results.read_text()
    targets = [line.split(" | ") for line in text.splitlines() if re.match(r"\| .* \| .* \| .* \| .* \|$", line)]
    for name, count in ROWS.items():
        rows = [row for row in targets if row[0].removeprefix("| ").startswith(name)]
        tally.same(f"rows '{name}'", len(rows), count, text)
        tally.holds(f"'{name}' was measured", all("not measured" not in row[-1] for row in rows))
    size = [row for row in targets if SIZE_ROW in row[0]]
    tally.holds("the package is below 1.5 MiB", all(row[-1].startswith("met") for row in size), str(size))


def quiet_check(tally: Tally, tool: Path, scratch: Path) -> None:
    made = images.images(scratch, tiny=True)
    for packing in images.PACKINGS:
        tree = guests.guest_with(scratch / packing, made, packing, images.KERNELS, "hostonly", rescue=True)
        seen = traced.watch(tool, tree, "--check")
        tally.same(f"{packing}: images", len(tree.boot_images()), 4)
        for image in tree.boot_images():
            tally.same(f"{packing}: bytes read of {image.name}", seen.read[image], image.stat().st_size)
        tally.same(f"{packing}: programs that --check runs", seen.commands, [])
        tally.same(f"{packing}: files that --check makes", seen.made, [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=Path)
    tool = parser.parse_args().tool.resolve()
    if missing := [name for name in bench.TOOLS if shutil.which(name) is None]:
        return skip(f"not installed: {', '.join(missing)}")
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="bench-test-") as scratch:
        all_rows(tally, tool, Path(scratch))
        quiet_check(tally, tool, Path(scratch))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
