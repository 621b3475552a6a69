#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Ansible role with the real ansible-playbook on three guest trees: ready, fixable, and not fixable.

Not run here: the installation of the package, since these guests are trees (nvme_preflight_install=false).

usage: ansible_role.py --tool PATH
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from merged_root import TOP
from tally import Tally, skip
from guest import K1, Guest, Image, write_lsblk

PLAYBOOK = TOP / "packaging/ansible/nvme-preflight.yml"


def host_only(guest: Guest) -> None:
    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")


def blocked(guest: Guest) -> None:
    guest.write_entry(K1, guest.options() + " modprobe.blacklist=nvme")


KINDS = {"ready": lambda guest: None, "fixable": host_only, "hopeless": blocked}


class Fleet:
    """Hosts in the order given, and the playbook run on them."""

    def __init__(self, folder: Path, tool: Path, kinds: list[str]) -> None:
        folder.mkdir()
        self.folder, self.tops = folder, {kind: folder / kind / "root" for kind in kinds}
        lines = ["[guests]"]
        for kind in kinds:
            (folder / kind).mkdir()
            guest = Guest(self.tops[kind])
            KINDS[kind](guest)
            guest.stand_in_dracut()
            guest.finish()
            lsblk = write_lsblk(guest, folder / kind / "lsblk.json")
            lines.append(f"{kind} nvme_preflight_root={guest.top} nvme_preflight_lsblk={lsblk}")
        lines += ["[guests:vars]", "ansible_connection=local", f"ansible_python_interpreter={sys.executable}",
                  f"nvme_preflight_program={tool}"]
        (folder / "ansible.cfg").write_text("")  # the administrator's own does not count
        (folder / "inventory").write_text("\n".join(lines) + "\n")

    def play(self, *options: str) -> subprocess.CompletedProcess:
        environment = dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_LOCAL_TEMP=str(self.folder / "local"),
                           ANSIBLE_REMOTE_TEMP=str(self.folder / "remote"), LC_ALL="C.UTF-8", ANSIBLE_CONFIG=str(self.folder / "ansible.cfg"))
        return subprocess.run(["ansible-playbook", "-i", str(self.folder / "inventory"), str(PLAYBOOK),
                               "-e", "nvme_preflight_install=false", "-e", f"nvme_preflight_reports={self.folder}/reports",
                               *options], capture_output=True, text=True, timeout=600, env=environment)

    def bytes_of(self, kind: str) -> dict[str, str]:
        top = self.tops[kind]
        return {str(path.relative_to(top)): f"{path.lstat().st_mtime_ns} {path.lstat().st_mode} "
                + (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "")
                for path in sorted(top.rglob("*"))}

    def report(self, kind: str) -> dict:
        return json.loads((self.folder / "reports" / f"{kind}.json").read_text())


def recap(done: subprocess.CompletedProcess) -> dict[str, tuple[int, int]]:
    """Host -> how many tasks changed it, and how many failed."""
    return {host: (int(changed), int(failed)) for host, changed, failed in
            re.findall(r"^(\w+) +: ok=\d+ +changed=(\d+).*failed=(\d+)", done.stdout, flags=re.M) if host != "localhost"}


def verdicts(done: subprocess.CompletedProcess) -> dict[str, str]:
    return dict(re.findall(r'^ +"(ready|fixable|hopeless) +([a-z-]+) ', done.stdout, flags=re.M))


def whole_fleet(tally: Tally, folder: Path, tool: Path) -> None:
    fleet = Fleet(folder, tool, ["ready", "fixable", "hopeless"])
    limits = ["-e", "nvme_preflight_serial=3", "-e", "nvme_preflight_max_fail=50"]
    before = {kind: fleet.bytes_of(kind) for kind in KINDS}

    done = fleet.play("--tags", "check")
    said = done.stdout + done.stderr
    tally.same("check: exit code", done.returncode, 0, said)
    tally.same("check: nothing changed, nothing failed", recap(done), {kind: (0, 0) for kind in KINDS}, said)
    tally.same("check: the table", verdicts(done),
               {"ready": "ready", "fixable": "not-ready", "hopeless": "not-ready"}, said)

    done = fleet.play("--check", "--diff", *limits)
    said = done.stdout + done.stderr
    tally.same("check mode: what would change", recap(done), {"ready": (0, 0), "fixable": (1, 0), "hopeless": (0, 1)},
               said)
    tally.holds("check mode: the diff", '+add_drivers=" nvme ' in said, said)
    tally.same("check mode: not a byte, mode or mtime changed", {kind: fleet.bytes_of(kind) for kind in KINDS}, before)

    done = fleet.play(*limits)
    said = done.stdout + done.stderr
    changed = {host: count for host, (count, _) in recap(done).items()}
    tally.same("fix: who was changed", changed, {"ready": 0, "fixable": 1, "hopeless": 0}, said)
    tally.same("fix: who failed", recap(done).get("hopeless"), (0, 1), said)
    tally.same("fix: the table", verdicts(done), {"ready": "ready", "fixable": "ready", "hopeless": "not-ready"}, said)
    tally.same("fix: the kept report", (fleet.report("fixable")["verdict"], fleet.report("fixable")["fix"]["state"]),
               ("ready", "applied"))
    tally.same("fix: the kept report of one that failed", fleet.report("hopeless")["verdict"], "not-ready")
    tally.same("fix: what was ready is as it was", fleet.bytes_of("ready"), before["ready"])

    fixed = fleet.bytes_of("fixable")
    done = fleet.play(*limits)
    tally.same("again: nothing changes", {host: count for host, (count, _) in recap(done).items()},
               {kind: 0 for kind in KINDS}, done.stdout + done.stderr)
    tally.same("again: not a byte", fleet.bytes_of("fixable"), fixed)
    done = fleet.play("--tags", "table")
    tally.same("the table alone", verdicts(done), {"ready": "ready", "fixable": "ready", "hopeless": "not-ready"},
               done.stdout + done.stderr)


def stops_at_the_limit(tally: Tally, folder: Path, tool: Path) -> None:
    fleet = Fleet(folder, tool, ["hopeless", "fixable"])
    before = fleet.bytes_of("fixable")
    done = fleet.play()
    tally.holds("one host at a time and no failure allowed: it ends", done.returncode != 0, done.stdout)
    tally.same("the host after the failed one was not touched", fleet.bytes_of("fixable"), before)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=Path)
    tool = parser.parse_args().tool.resolve()
    if not shutil.which("ansible-playbook") or os.geteuid() != 0:
        return skip("ansible-playbook is not here, or not root")
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        whole_fleet(tally, Path(scratch) / "fleet", tool)
        stops_at_the_limit(tally, Path(scratch) / "limit", tool)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
