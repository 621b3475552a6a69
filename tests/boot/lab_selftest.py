#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the lab tell a guest that boots from one that does not? The four oracle boots, without the tool."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab import cli
from lab.disk import Disk
from lab.guest import FACTS, Facts
from lab.vm import NO_ROOT, Boot, Bus, State, boot


@dataclass(frozen=True)
class Oracle:
    name: str
    bus: Bus
    generic: bool               # the rescue entry: EL's generic image
    devices_file: bool
    expect: State
    facts: Callable[[Facts], bool]


ORACLES = (
    Oracle("virtio, host-only image", Bus.VIRTIO, False, True, State.NORMAL,
           lambda facts: facts.home == "/dev/mapper/rl-home" and facts.pvs == "/dev/vda3 rl"),
    Oracle("NVMe, host-only image", Bus.NVME, False, True, State.NO_BOOT, lambda facts: not facts.root),
    Oracle("NVMe, generic image, devices file", Bus.NVME, True, True, State.EMERGENCY,
           lambda facts: facts.root == "/dev/mapper/rl-root" and not facts.home and not facts.pvs),
    Oracle("NVMe, generic image, no devices file", Bus.NVME, True, False, State.NORMAL,
           lambda facts: facts.home == "/dev/mapper/rl-home" and facts.pvs == "/dev/nvme0n1p3 rl"),
)


def devices_file_off(disk: Disk) -> None:
    with disk.mounted() as root:
        conf: Path = root / "etc/lvm/lvm.conf"
        conf.write_text(conf.read_text().replace("\tuse_devicesfile = 1", "\tuse_devicesfile = 0"))


def selftest(lab: cli.Lab) -> None:
    """Run the lab's own test."""
    off = lab.clone("no-devices-file")
    devices_file_off(off)

    def one(number: int) -> Boot:
        oracle = ORACLES[number]
        return boot(lab.base if oracle.devices_file else off, oracle.bus, FACTS, lab.logs / str(number + 1),
                    entry="0-rescue" if oracle.generic else None, snapshot=True, cpus=1)

    with ThreadPoolExecutor(2) as boots:
        for oracle, done in zip(ORACLES, boots.map(one, range(len(ORACLES)))):
            facts = Facts.of(done)
            right_end = done.state is not State.NO_BOOT or done.reason == NO_ROOT
            lab.table.row(done.state is oracle.expect and right_end and oracle.facts(facts), oracle.name,
                          f"{done.state.value} ({done.reason}), {facts}, {done.seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(cli.main("lab_selftest", selftest, needs_tool=False))
