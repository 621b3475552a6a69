# SPDX-License-Identifier: MIT
"""What the tool says of a guest: offline from the build machine, or live in the running guest."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .run import LabError


@dataclass(frozen=True)
class Prediction:
    verdict: str
    exit_code: int
    failing: tuple[str, ...]
    warning: tuple[str, ...]
    unknown: tuple[str, ...]
    fixes: tuple[str, ...]      # that the failing findings ask for

    @classmethod
    def of(cls, exit_code: int, out: str, err: str) -> Prediction:
        try:
            report = json.loads(out)
        except ValueError as bad:
            raise LabError(f"no report (exit {exit_code}): {err[-800:]}") from bad
        findings: list[dict[str, Any]] = report["findings"]

        def ids(status: str) -> tuple[str, ...]:
            return tuple(sorted({one["check"] for one in findings if one["status"] == status}))

        fixes = {one["remedy"]["fix"] for one in findings
                 if one["status"] == "fail" and (one.get("remedy") or {}).get("fix")}
        return cls(report["verdict"], exit_code, ids("fail"), ids("warn"), ids("unknown"), tuple(sorted(fixes)))

    @classmethod
    def load(cls, data: dict[str, Any]) -> Prediction:
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in data.items()})

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return self.verdict + (f" ({' '.join(self.failing)})" if self.failing else "")


def tool(program: Path, root: Path, lsblk: Path, options: Sequence[str], timeout: float = 900) -> tuple[int, str, str]:
    done = subprocess.run([str(program), "--root", str(root), "--lsblk", str(lsblk), *options], capture_output=True,
                          text=True, errors="replace", timeout=timeout, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def offline(program: Path, root: Path, lsblk: Path) -> Prediction:
    return Prediction.of(*tool(program, root, lsblk, ["--check", "--json"]))


def differences(live: Prediction, offline_one: Prediction) -> tuple[list[str], list[str]]:
    """Where the two contradict each other, and where offline could not tell what the live guest could (only a
    program of the guest answers that, or only the running kernel)."""
    contradictions, untold = [], []
    for check in sorted(set(live.failing) ^ set(offline_one.failing)):
        (untold if check in offline_one.unknown else contradictions).append(check)
    if live.verdict != offline_one.verdict and not (offline_one.verdict == "unknown" and offline_one.unknown):
        contradictions.append(f"{live.verdict} live, {offline_one.verdict} offline")
    return contradictions, untold


# Many changes in one running guest, one after the other: each is unpacked over the live tree, the tool is asked, and what
# was there before comes back.
_APPLY = r"""
cd /usr/local/lab
restore() { tar -C / -tf $1.tar | sed 's,/$,,' >/run/lab/new; cat /run/lab/new $1.gone | sort -u >/run/lab/touched
  while read -r path; do [ -e "/$path" ] || [ -L "/$path" ] && echo "$path"; done </run/lab/touched >/run/lab/was
  tar -C / --xattrs --xattrs-include='*' --no-recursion -cf save.tar -T /run/lab/was; }
apply() { while read -r path; do rm -rf "/$path"; done <$1.gone; tar -C / --xattrs --xattrs-include='*' -xpf $1.tar; }
back() { while read -r path; do [ -d "/$path" ] && [ ! -L "/$path" ] || rm -f "/$path"; done </run/lab/new
  tar -C / --xattrs --xattrs-include='*' -xpf save.tar; }
"""


def live_script(names: Iterable[str]) -> str:
    """For a guest that has the changes in /usr/local/lab/NAME.tar and NAME.gone."""
    return _APPLY + "".join(
        f"restore {name}; apply {name}; step {shlex.quote(name)} nvme-preflight --check --json; back {name}\n"
        for name in names)


def write_change(start: Path, changed: Path, into: Path, name: str) -> None:
    """What makes the tree `start` the tree `changed`."""
    before, after = _listing(start), _listing(changed)
    different = sorted(path for path, facts in after.items() if before.get(path) != facts)
    (into / f"{name}.gone").write_text("".join(f"{path}\n" for path in sorted(before.keys() - after.keys())))
    listing = into / f"{name}.list"
    listing.write_text("".join(f"{path}\n" for path in different))
    done = subprocess.run(["tar", "-C", str(changed), "--xattrs", "--xattrs-include=*", "--no-recursion", "-cf",
                           str(into / f"{name}.tar"), "-T", str(listing)], capture_output=True, timeout=120, check=False)
    listing.unlink()
    if done.returncode:
        raise LabError(f"tar: {done.stderr.decode(errors='replace')[-300:]}")


_PLACES = ("etc", "boot", "usr/lib/dracut", "usr/lib/modprobe.d", "usr/lib/os-release", "var/lib/nvme-preflight")


def _listing(root: Path) -> dict[str, tuple[object, ...]]:
    """Files by everything but their content: both trees are byte copies of one disk."""
    found: dict[str, tuple[object, ...]] = {}
    for place in _PLACES:
        top = root / place
        for path in [top, *top.rglob("*")] if top.exists() else []:
            facts = path.lstat()
            is_dir = path.is_dir() and not path.is_symlink()
            found[str(path.relative_to(root))] = (
                facts.st_mode, facts.st_uid, None if is_dir else (facts.st_mtime_ns, facts.st_size))
    return found
