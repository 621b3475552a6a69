#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Man page, --help, --explain, README and the case guests' reports name the same ids, options and exit codes.

usage: docs_agree.py --tool PATH
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/support"))
from tally import Tally  # noqa: E402

PAGE = TOP / "packaging/nvme-preflight.8"


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def options_of_help(text: str) -> dict[str, str]:
    """Option -> what it takes, as --help lists them."""
    lines = re.findall(r"^  (?:-\w,)?(--[\w-]+)(?: (\S+))?(?:  |$)", text, flags=re.M)
    return {name: takes for name, takes in lines}


def options_of_page(text: str) -> dict[str, str]:
    section = re.search(r"^\.SH OPTIONS\n(.*?)^\.SH", text, flags=re.M | re.S)
    assert section, "the page has no OPTIONS"
    found = {}
    for tag in re.findall(r"^\.TP\n(.*)$", section[1], flags=re.M):
        plain = re.sub(r"\\f[BIR]|^\.BR? |[\",]", "", tag.replace("\\-", "-")).replace("-h  ", "").split()
        found[plain[0]] = " ".join(plain[1:]).replace("...", ",..")
    return found


def table(readme: str, heading: str) -> list[list[str]]:
    rows = re.search(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", readme, flags=re.M)
    assert rows, f"README has no table of {heading}"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[1].splitlines()]


def fixes_in_cases() -> dict[str, set[str]]:
    """Check -> the fixes that its findings named in the case guests."""
    fixes: dict[str, set[str]] = {}
    for golden in TOP.glob("tests/cases/*/*/report.json"):
        for finding in json.loads(golden.read_text())["findings"]:
            if fix := (finding.get("remedy") or {}).get("fix"):
                fixes.setdefault(finding["check"], set()).add(fix)
    return fixes


def complaints_of(*command: str) -> tuple[int, str]:
    """Exit code and all that a command says."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, (done.stdout + done.stderr).strip()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=Path)
    tool = str(parser.parse_args().tool.resolve())
    readme, page, help_text = (TOP / "README.md").read_text(), PAGE.read_text(), run(tool, "--help")
    explained = json.loads(run(tool, "--explain", "--json"))["checks"]
    ids = [check["check"] for check in explained]
    rows = table(readme, "id")

    compare = Tally()
    compare.same("the man page is made from its template and --explain",
                 complaints_of(str(TOP / "packaging/make-man"), tool, "--check"), (0, ""))
    compare.same("options of --help and of the man page", options_of_help(help_text), options_of_page(page))
    compare.same("options that README names are options", set(),
                 set(re.findall(r"`(--[a-z-]+)", readme)) - set(options_of_help(help_text))
                 - {"--full", "--tags"})  # of packaging/test and of ansible-playbook
    version = run(tool, "--version").split()[1]
    compare.same("the newest version of CHANGELOG and --version", [version],
                 re.findall(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text(), flags=re.M)[:1])
    compare.same("versions of the spec and --version", [version],
                 re.findall(r"^Version:\s*(\S+)", (TOP / "packaging/nvme-preflight.spec").read_text(), flags=re.M))
    schema = json.loads((TOP / "packaging/report-v1.schema.json").read_text())
    compare.same("the schema's name in the schema, README, --help and the man page",
                 [True] * 3, [schema["$id"] in text.replace("\\-", "-") for text in (readme, help_text, page)])
    compare.same("exit codes of the schema are exit codes", set(),
                 set(map(str, schema["properties"]["exit_code"]["enum"])) - {row[0] for row in table(readme, "code")})
    named = set(re.findall(r"--[a-z-]{3,}", (TOP / "packaging/completion/nvme-preflight").read_text()))
    compare.same("the completion names no option but those it asks with", {"--help", "--explain", "--runs", "--root"}, named)
    compare.same("exit codes of README and of --help", [row[0] for row in table(readme, "code")],
                 re.findall(r"^ *(\d+)  ", help_text.split("Exit codes:")[1], flags=re.M))
    compare.same("checks of README and of --explain", [row[0] for row in rows], ids)
    seen = fixes_in_cases()
    for check, _, fix in rows:
        compare.same(f"the fix of {check} in README and in the case guests", set(filter(None, fix.split(", "))),
                     seen.get(check, set()))
    compare.same("which checks --explain says have a fix", {check["check"] for check in explained if check["fix"]},
                 set(seen))
    for line in run(tool, "--explain").splitlines():
        compare.same("--explain in a line each", line.split()[0], ids.pop(0))
    if shutil.which("mandoc"):
        compare.same("mandoc finds nothing to warn of",
                     complaints_of("mandoc", "-T", "lint", "-W", "warning", str(PAGE)), (0, ""))
    else:
        print("SKIPPED: mandoc is not here, the man page was not linted")
    return compare.finish()


if __name__ == "__main__":
    sys.exit(main())
