#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bash completion offers what the program knows: options, checks, runs, files. Once by calling the function, then by
typing and pressing Tab in an interactive bash, with and without the bash-completion package.

usage: completion.py --tool PATH
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COMPLETION = TOP / "packaging/completion/nvme-preflight"
PACKAGE = Path("/usr/share/bash-completion/bash_completion")
sys.path.insert(0, str(TOP / "tests/support"))
from guest import K1, Guest, Image, write_lsblk  # noqa: E402
from tally import Tally  # noqa: E402

ASK = """source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_nvme_preflight
printf '%s\\n' "${COMPREPLY[@]}"
"""


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def offers(tool: str, *words: str) -> list[str]:
    """What is offered for the last of the words; noise on stderr is a failure of its own."""
    done = subprocess.run(["bash", "--norc", "-c", ASK, "ask", str(COMPLETION), tool, *words],
                          capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr, done.stderr
    return sorted(filter(None, done.stdout.splitlines()))


def fixed_guest(tool: str, folder: Path) -> tuple[Path, str]:
    """A guest with one run of --fix, and the run's id."""
    guest = Guest(folder / "root")
    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.stand_in_dracut()
    guest.finish()
    lsblk = write_lsblk(guest, folder / "lsblk.json")
    report = json.loads(run(tool, "--root", str(guest.top), "--lsblk", str(lsblk), "--fix", "--json"))
    assert report["fix"]["state"] == "applied", report["fix"]
    return guest.top, report["fix"]["run"]


def typed(rc: Path, environment: dict[str, str], keys: list[str]) -> str:
    """What an interactive bash prints while the keys are typed, one after the other has been answered."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("bash", ["bash", "--noprofile", "--rcfile", str(rc), "-i"], environment)
    seen = ""

    def read_until(done: str, limit: float) -> None:
        nonlocal seen
        start, end = len(seen), time.monotonic() + limit
        while done not in seen[start:] and time.monotonic() < end:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                seen += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                return

    read_until("READY>", 30)
    for key, answer in zip(keys[::2], keys[1::2]):
        os.write(terminal, key.encode())
        read_until(answer, 30)
    os.write(terminal, b"exit\n")
    read_until("\0", 5)
    os.close(terminal)
    os.waitpid(child, 0)
    return seen


def types_it(tally: Tally, tool: str, folder: Path, with_package: bool) -> None:
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    link = programs / "nvme-preflight"
    if not link.exists():
        link.symlink_to(tool)
    data = folder / "data/completions"
    data.mkdir(parents=True, exist_ok=True)
    (data / "nvme-preflight").write_bytes(COMPLETION.read_bytes())
    rc = folder / "rc"
    # The package finds the file by the command's name when Tab is pressed for the first time.
    rc.write_text(f"PS1='READY>'\nbind 'set enable-bracketed-paste off'\n"
                  f"source {PACKAGE if with_package else COMPLETION}\n")
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "COLUMNS": "200",
                   "BASH_COMPLETION_USER_DIR": str(folder / "data"), "LC_ALL": "C"}
    seen = typed(rc, environment, ["nvme-preflight --expl\t", "--explain ", "lvm.devicesf\t", "lvm.devicesfile",
                                   "\n", "READY>"])
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
    what = "typed, with the package" if with_package else "typed, without the package"
    tally.same(what + ": the line", "nvme-preflight --explain lvm.devicesfile" in plain, True)
    tally.same(what + ": it ran", run(tool, "--explain", "lvm.devicesfile").split("\n")[0] in plain, True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=Path)
    tool = str(parser.parse_args().tool.resolve())
    ids = sorted(check["check"] for check in json.loads(run(tool, "--explain", "--json"))["checks"])
    options = sorted(re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(tool, "--help"), flags=re.M))
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        root, run_id = fixed_guest(tool, folder)
        (folder / "a folder").mkdir()
        (folder / "a file").write_text("")
        tally.same("options", offers(tool, ""), options)
        tally.same("options that begin with", offers(tool, "--ver"), ["--verbose", "--verify", "--version"])
        tally.same("options after another", offers(tool, "--check", "--st"), ["--strict"])
        for option in ("--only", "--skip", "--explain"):
            tally.same(f"checks after {option}", offers(tool, option, "lvm."),
                       [name for name in ids if name.startswith("lvm.")])
        tally.same("every check", offers(tool, "--only", ""), ids)
        tally.same("checks or options where the check need not be given", offers(tool, "--explain", ""),
                   sorted(ids + options))
        tally.same("checks after a comma", offers(tool, "--only", "root.resolves,lvm.f"), ["root.resolves,lvm.filter"])
        tally.same("checks after =", offers(tool, "--only", "=", "kdump"), ["kdump.image"])
        tally.same("runs", offers(tool, "--root", str(root), "--undo", "2"), [run_id])
        tally.same("runs, after =", offers(tool, "--root", "=", str(root), "--undo", "2"), [run_id])
        tally.same("no run", offers(tool, "--root", str(folder), "--undo", "2"), [])
        tally.same("folders alone", offers(tool, "--root", str(folder / "a f")), [str(folder / "a folder")])
        tally.same("folders to measure in", offers(tool, "--measure", str(folder / "a f")), [str(folder / "a folder")])
        tally.same("files", offers(tool, "--lsblk", str(folder / "a fi")), [str(folder / "a file")])
        tally.same("colours", offers(tool, "--color", ""), ["always", "auto", "never"])
        tally.same("nothing for a number", offers(tool, "--fix", "--time-limit", ""), [])
        tally.same("a program that is not there", offers("/nonexistent/nvme-preflight", "--"), [])
        types_it(tally, tool, folder, with_package=False)
        if PACKAGE.exists():
            types_it(tally, tool, folder, with_package=True)
        else:
            print(f"SKIPPED with the bash-completion package: {PACKAGE} is not here")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
