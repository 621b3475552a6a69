#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the table catch a broken rule? One rule is broken in each of several checks, one at a time, in a scratch copy of the
sources; the mutant predicts the scenarios anew, offline, and is held against the outcomes that a run has recorded.

Nothing is booted.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import base, cli, records, report, stages
from lab.run import LabError, run
from lab.scenario import load_all


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    scenarios: tuple[str, ...]      # where the rule decides


MUTANTS = (
    Mutant("initramfs.driver: a missing module of the closure is overlooked", "checks/initramfs_driver.cpp",
           "if (judgement.missing.empty() && judgement.unreadable.empty())", "if (judgement.unreadable.empty())",
           ("image_without_nvme_auth", "image_without_nvme_core")),
    Mutant("initramfs.blocked: obstacles only warn", "checks/initramfs_blocked.cpp",
           "judged.fault,", "Status::warn,", ("module_blacklist", "blacklist_in_image", "initcall_blacklist")),
    Mutant("lvm.devicesfile: a serial is taken for stable", "checks/lvm_devicesfile.cpp",
           'else if (entry.idtype == "sys_serial")\n    out = {Status::fail,',
           'else if (entry.idtype == "sys_serial")\n    out = {Status::pass,', ("devices_sys_serial", "lvmlocal_on")),
    Mutant("lvm.activation: volumes that do not exist are not looked for", "checks/lvm_activation.cpp",
           "if (*found != Existence::missing) continue;", "continue;", ("stale_rd_lvm_lv",)),
    Mutant("fstab.device-names: every line counts as optional", "checks/table_device_names.cpp",
           "finding.status = line.is_optional() ? Status::warn : Status::fail;",
           "finding.status = Status::warn;", ("fstab_vda2", "fstab_by_id", "el9_crypttab_swap")),
    Mutant("fstab.device-names: nofail is not looked at", "checks/table_device_names.cpp",
           "finding.status = line.is_optional() ? Status::warn : Status::fail;",
           "finding.status = Status::fail;", ("fstab_vda2_nofail",)),
    Mutant("dracut.hostonly: nothing has to force nvme", "checks/dracut_hostonly.cpp",
           "rehearsal.forced ? forced", "true ? forced", ("hostonly_in_dracut_conf", "modprobed_nvme")),
)


def build(mutant: Mutant, tree: Path) -> Path:
    """The mutant's program; the tree goes back to what it was."""
    file = tree / mutant.file
    text = file.read_text()
    if text.count(mutant.old) < 1:
        raise LabError(f"{mutant.name}: {mutant.file} no longer has that rule")
    file.write_text(text.replace(mutant.old, mutant.new))
    try:
        run(["cmake", "--build", tree / "build", "--target", "nvme-preflight", "-j2"], timeout=3000)
    finally:
        file.write_text(text)
    program = tree / f"mutant{MUTANTS.index(mutant)}"
    shutil.copy2(tree / "build/nvme-preflight", program)
    return program


def judge(mutant: Mutant, program: Path, options: argparse.Namespace, work: Path) -> list[str]:
    """The disagreements that the table shows for this program."""
    chosen = [one for one in load_all() if one.name in mutant.scenarios]
    own = work / "records"
    shutil.copytree(options.records, own, dirs_exist_ok=True)
    store = records.Store(own, program)
    stages.run(chosen, store, program, work, options.logs / "mutation", 1, ("predict",))
    table = report.Table([store.of(one) for one in chosen], store, offline_only=True)
    return table.disagreements()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, default=cli.REPO / "build/boot-logs/truth_table")
    parser.add_argument("--records", type=Path, help="of a run of truth_table.py (LOGS/records)")
    parser.add_argument("--cmake", action="append", default=[], metavar="OPTION",
                        help="further options for cmake, each as --cmake=-DNAME=VALUE")
    options = parser.parse_args()
    options.records = options.records or options.logs / "records"
    cli.end_by_signal()
    base.check_machine()
    if not options.records.is_dir():
        print(f"\n*** SKIPPED: no recorded outcomes in {options.records}: run truth_table.py first ***\n", file=sys.stderr)
        return cli.SKIP
    caught = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as top:
        tree = Path(top) / "tree"
        shutil.copytree(cli.REPO, tree, ignore=shutil.ignore_patterns("build*", ".git"))
        run(["cmake", "-S", tree, "-B", tree / "build", "-DPREFLIGHT_TESTS=OFF", *options.cmake], timeout=300)
        for mutant in MUTANTS:
            program = build(mutant, tree)
            work = Path(top) / "work"
            work.mkdir()
            found = judge(mutant, program, options, work)
            shutil.rmtree(work)
            caught += bool(found)
            print(f"{'caught' if found else 'MISSED'}  {mutant.name}", *(f"        {text}" for text in found), sep="\n",
                  flush=True)
    print(f"{caught} of {len(MUTANTS)} mutants caught")
    return 0 if caught == len(MUTANTS) else 1


if __name__ == "__main__":
    sys.exit(main())
