#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cmake --install puts everything where the system's programs look for it, and the tarball builds the same list.

usage: installed.py --build FOLDER
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from merged_root import TOP
from tally import Tally

ROLE = "share/nvme-preflight/ansible/roles/nvme_preflight"
EXPECTED = {
    "lib/kernel/install.d/99-nvme-preflight.install",
    "sbin/nvme-preflight",
    "share/bash-completion/completions/nvme-preflight",
    "share/doc/nvme-preflight/CHANGELOG.md",
    "share/doc/nvme-preflight/LICENSE",
    "share/doc/nvme-preflight/README.md",
    "share/man/man8/nvme-preflight.8",
    "share/nvme-preflight/ansible/nvme-preflight.yml",
    "share/nvme-preflight/post.ks",
    "share/nvme-preflight/report-v1.schema.json",
    f"{ROLE}/defaults/main.yml",
    f"{ROLE}/library/nvme_preflight.py",
    f"{ROLE}/meta/main.yml",
    *(f"{ROLE}/tasks/{name}.yml" for name in ("check", "fix", "install", "keep", "main", "table")),
    f"{ROLE}/templates/table.txt.j2",
}
EXECUTABLE = {"lib/kernel/install.d/99-nvme-preflight.install", "sbin/nvme-preflight"}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=Path)
    build = parser.parse_args().build.resolve()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        prefix = Path(scratch) / "usr"
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix)], check=True, capture_output=True)
        files = [path for path in prefix.rglob("*") if path.is_file()]
        tally.same("what is installed", sorted(str(path.relative_to(prefix)) for path in files), sorted(EXPECTED))
        tally.same("what may be run", {str(path.relative_to(prefix)) for path in files if path.stat().st_mode & 0o111},
                   EXECUTABLE)
        make_dist = str(TOP / "packaging/make-dist")
        tarball = Path(subprocess.run([make_dist, scratch], check=True, capture_output=True, text=True).stdout.strip())
        first = tarball.read_bytes()
        with tarfile.open(tarball) as unpacked:
            unpacked.extractall(Path(scratch) / "from")
        again = Path(scratch) / "from" / tarball.name.removesuffix(".tar.gz") / "packaging/make-dist"
        (Path(scratch) / "again").mkdir()
        tarball = subprocess.run([str(again), f"{scratch}/again"], check=True, capture_output=True, text=True).stdout
        tally.holds("the tarball made from the tarball is the same", Path(tarball.strip()).read_bytes() == first)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
