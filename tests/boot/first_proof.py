#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first boot proof: not ready, fixed, boots on NVMe, boots back on virtio, undone byte for byte."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lab import cli
from lab.guest import FACTS, Facts, differences, parse_snapshot, step_of
from lab.vm import NO_ROOT, Boot, Bus, State, Step, boot

MUST_FAIL = ("initramfs.driver", "dracut.hostonly", "lvm.devicesfile")

BEFORE = FACTS + """
step before snapshot
step check nvme-preflight --check --json
step fix nvme-preflight --fix --json
"""
AFTER = FACTS + """
step undo nvme-preflight --undo --json
step after snapshot
"""


def report_of(step: Step) -> dict[str, Any]:
    try:
        report = json.loads(step.out)
    except ValueError:
        report = None
    return report if isinstance(report, dict) else {}


def trouble(step: Step) -> str:
    """The end of what a failed step said."""
    return "" if step.rc == 0 else f"\n{(step.err or step.out)[-1500:]}"


def failed_checks(report: dict[str, Any]) -> list[str]:
    return sorted({finding["check"] for finding in report.get("findings", ()) if finding["status"] == "fail"})


def in_order(done: Boot, disk: str) -> bool:
    """Default target, every file system, and LVM seeing the PV on that disk."""
    facts = Facts.of(done)
    return (done.state is State.NORMAL and facts.root == "/dev/mapper/rl-root"
            and facts.home == "/dev/mapper/rl-home" and facts.swaps != "" and facts.pvs == f"/dev/{disk} rl")


def prove(lab: cli.Lab) -> None:
    """Run the first boot proof."""
    row = lab.table.row
    disk = lab.clone("guest")
    lab.install_tool(disk)

    # Building an image under TCG keeps one CPU busy for minutes; the boot that must fail has the other one.
    with ThreadPoolExecutor(1) as side:
        unfixed = side.submit(boot, lab.base, Bus.NVME, FACTS, lab.logs / "1-unfixed-nvme", snapshot=True, cpus=1)
        fixing = boot(disk, Bus.VIRTIO, BEFORE, lab.logs / "1-fix-virtio", finish=1800)
        dead = unfixed.result()
    row(dead.state is State.NO_BOOT and dead.reason == NO_ROOT, "as installed, on NVMe it does not boot",
        f"{dead.state.value} ({dead.reason}) after {dead.seconds:.0f} s")
    row(in_order(fixing, "vda3"), "as installed, on virtio it boots",
        f"{fixing.state.value} ({fixing.reason}), {Facts.of(fixing)}")

    check = step_of(fixing, "check")
    report = report_of(check)
    fails = failed_checks(report)
    row(check.rc == 1 and report.get("verdict") == "not-ready" and set(MUST_FAIL) <= set(fails),
        "--check says why not", f"exit {check.rc}, {report.get('verdict')}, fail: {' '.join(fails) or '-'}"
        + ("" if report else f"\n{check.err[-1500:]}"))

    fix = step_of(fixing, "fix")
    report = report_of(fix)
    if not row(fix.rc == 0 and report.get("verdict") == "ready" and not failed_checks(report),
               "--fix on virtio says ready", f"exit {fix.rc}, {report.get('verdict')}, {fix.seconds} s, changed: "
               f"{' '.join(report.get('fix', {}).get('changed', ())) or '-'}{trouble(fix)}"):
        return

    # One guest, switched there and back: what a boot on NVMe leaves behind is there when it comes home.
    there = boot(disk, Bus.NVME, FACTS, lab.logs / "2-fixed-nvme")
    row(in_order(there, "nvme0n1p3"), "fixed, on NVMe it boots",
        f"{there.state.value} ({there.reason}), {Facts.of(there)}, {there.seconds:.0f} s")
    back = boot(disk, Bus.VIRTIO, AFTER, lab.logs / "3-fixed-virtio", snapshot=True, finish=240)
    row(in_order(back, "vda3"), "fixed, back on virtio it boots",
        f"{back.state.value} ({back.reason}), {Facts.of(back)}, {back.seconds:.0f} s")

    undo = step_of(back, "undo")
    row(undo.rc == 0, "--undo", f"exit {undo.rc}, {undo.seconds} s{trouble(undo)}")
    before = parse_snapshot(step_of(fixing, "before").out)
    found = differences(before, parse_snapshot(step_of(back, "after").out))
    row(not found, "undone: /etc and /boot are what they were",
        f"{len(before)} paths" + "".join(f"\n      {line}" for line in found))


if __name__ == "__main__":
    sys.exit(cli.main("first_proof", prove, needs_tool=True))
