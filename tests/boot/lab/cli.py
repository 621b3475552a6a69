# SPDX-License-Identifier: MIT
"""What every boot test's main shares: options, the base guest, a work directory, skip and exit codes."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import base
from .disk import Disk
from .recipe import RECIPES, Recipe
from .run import LabError, LabUnavailable
from .table import Table

REPO = Path(__file__).resolve().parents[3]
SKIP = 77


@dataclass(frozen=True)
class Lab:
    recipe: Recipe
    base: Disk          # never written to: clone it, or boot it with snapshot=True
    work: Path          # removed at the end
    logs: Path          # kept
    tool: Path
    table: Table

    def clone(self, name: str) -> Disk:
        return self.base.clone(self.work / f"{name}.raw")

    def install_tool(self, disk: Disk) -> None:
        """Into the guest's /usr, as its package would; /etc and /boot stay what they are."""
        with disk.mounted() as root:
            target = root / "usr/sbin/nvme-preflight"
            shutil.copyfile(self.tool, target)
            target.chmod(0o755)


def _terminated(signum: int, _frame: object) -> None:
    signal.signal(signum, signal.SIG_IGN)           # timeout(1) sends it twice; the second must not stop the clean-up
    raise KeyboardInterrupt(f"signal {signum}")     # so that QEMU and mounts end on the ordinary way out


def end_by_signal() -> None:
    signal.signal(signal.SIGTERM, _terminated)


def main(name: str, test: Callable[[Lab], None], *, needs_tool: bool, argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=test.__doc__)
    parser.add_argument("--tool", type=Path, default=REPO / "build/nvme-preflight", help="the program under test")
    parser.add_argument("--logs", type=Path, default=REPO / "build/boot-logs" / name, help="where consoles are kept")
    parser.add_argument("--guest", choices=sorted(RECIPES), default="el10")
    parser.add_argument("--prepare-only", action="store_true", help="only build the cached base guest")
    options = parser.parse_args(argv)
    end_by_signal()
    table = Table()
    try:
        base.check_machine()
        if needs_tool and not options.prepare_only and not options.tool.is_file():
            raise LabError(f"{options.tool}: no such program (--tool)")
        options.logs.mkdir(parents=True, exist_ok=True)
        recipe = RECIPES[options.guest]
        disk = base.base_disk(recipe, options.logs / "base", table.say)
        table.row(True, f"base guest {recipe.name}", str(disk.image))
        if options.prepare_only:
            return 0
        work = options.logs / "work"        # a fixed name: what a killed run left there goes with the next one
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            test(Lab(recipe, disk, work, options.logs, options.tool, table))
        finally:
            shutil.rmtree(work)
    except LabUnavailable as why:
        print(f"\n*** SKIPPED: {name}: {why} ***\n", file=sys.stderr, flush=True)
        return SKIP
    except (LabError, OSError, subprocess.SubprocessError) as bad:
        table.row(False, "the lab itself", str(bad))
    print(f"logs: {options.logs}")
    return table.verdict(name)
