#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The truth table: what nvme-preflight predicts of each scenario, and what the guest does when it is booted."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from lab import base, cli, records, report, stages
from lab.run import LabError, LabUnavailable
from lab.scenario import Scenario, load_all

NAME = "truth_table"


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", type=Path, default=cli.REPO / "build/nvme-preflight", help="the program under test")
    parser.add_argument("--logs", type=Path, default=cli.REPO / "build/boot-logs" / NAME, help="where consoles are kept")
    parser.add_argument("--records", type=Path, help="where each scenario's results are kept (LOGS/records)")
    parser.add_argument("--core", action="store_true", help="only the scenarios of the default test")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this scenario (repeatable)")
    parser.add_argument("--guests", type=int, default=3, help="how many guests run side by side")
    parser.add_argument("--stages", default=",".join(stages.ALL), help=f"of {','.join(stages.ALL)}")
    parser.add_argument("--recorded", action="store_true", help="boot nothing: predict anew, take outcomes from records")
    parser.add_argument("--assemble", action="store_true", help="run nothing: the table of what is recorded, whatever build it "
                        "is from")
    parser.add_argument("--fresh", action="store_true", help="forget recorded results first")
    parser.add_argument("--results", type=Path, help="write the table as Markdown")
    return parser.parse_args()


def run(options: argparse.Namespace) -> int:
    chosen = [one for one in load_all() if (one.core or not options.core) and (one.name in options.only or not options.only)]
    if not chosen:
        raise LabError("no such scenario")
    if options.assemble:
        return assemble(chosen, options)
    base.check_machine()
    if not options.tool.is_file():
        raise LabError(f"{options.tool}: no such program (--tool)")
    work = options.logs / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    store = records.Store(options.records or options.logs / "records", options.tool)
    if options.fresh:
        store.forget(chosen)
    try:
        wanted = ("predict",) if options.recorded else tuple(options.stages.split(","))
        stages.run(chosen, store, options.tool, work, options.logs, options.guests, wanted)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    table = report.Table([store.of(one) for one in chosen], store, offline_only=options.recorded)
    return show(table, options, wanted)


def assemble(chosen: list[Scenario], options: argparse.Namespace) -> int:
    store = records.Store(options.records or options.logs / "records", options.tool)
    return show(report.Table([store.assemble(one) for one in chosen], store), options, stages.ALL)


def show(table: report.Table, options: argparse.Namespace, wanted: tuple[str, ...]) -> int:
    print(table.text(), flush=True)
    gaps = table.gaps(wanted)
    for gap in gaps:
        print(f"NOT MEASURED  {gap}", flush=True)
    if options.results:
        options.results.write_text(table.markdown(len(load_all())))
    return 1 if table.disagreements() or gaps else 0


def main() -> int:
    cli.end_by_signal()
    try:
        return run(options_of())
    except LabUnavailable as why:
        print(f"\n*** SKIPPED: {NAME}: {why} ***\n", file=sys.stderr, flush=True)
        return cli.SKIP
    except (LabError, OSError) as bad:
        print(f"FAIL  the lab itself: {bad}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
