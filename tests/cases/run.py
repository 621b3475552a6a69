#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the case guests: tests/cases/<check-id>/<case>/case.py.

A case.py has `build(guest)`, which changes the standard guest of tests/support/guest.py, and says
by hand what must come out: EXPECT (check id -> status, or a list of statuses in order), EXIT, and,
where --fix is tried, FIX_EXIT. Golden files beside it hold the whole output: report.json,
report.txt, plan.txt (--fix --dry-run --diff) and after.diff (what --fix changed). SCREENS names
what is also tried on a terminal of 80 columns and 24 rows, without colours: "check" (screen.txt,
which fits it) and "fix" (screen-fix.txt, with what stays of the progress).

SECRETS: words that no JSON report, and no file of a run but its backups, may hold.

On every case: --check and --fix --dry-run change no byte, mode or mtime; a second --fix changes
nothing; --undo restores every touched file with its mode, owner, xattrs and mtime.

usage: run.py --tool PATH [--update] [FILTER..]
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib.util
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from guest import Guest, write_lsblk  # noqa: E402
from terminal import on_terminal  # noqa: E402

RUN_ID = re.compile(r"\d{8}T\d{6}Z-\d+")
DURATION = re.compile(r", \d+ s$", re.MULTILINE)  # how long a step took
STATE = "var/lib/nvme-preflight"
TIME_LIMIT = 120
SCREEN_COLUMNS, SCREEN_ROWS = 80, 24


class Failure(Exception):
    pass


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fingerprint(top: Path, with_directory_times: bool) -> dict[str, tuple]:
    """Everything about every file except its atime."""
    seen: dict[str, tuple] = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, top)
            if relative.startswith(STATE):
                continue
            status = os.lstat(path)
            directory = stat.S_ISDIR(status.st_mode)
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            xattrs = tuple((n, os.getxattr(path, n, follow_symlinks=False))
                           for n in os.listxattr(path, follow_symlinks=False))
            mtime = status.st_mtime_ns if with_directory_times or not directory else 0
            seen[relative] = (oct(status.st_mode), status.st_uid, status.st_gid, mtime, content, xattrs)
    return seen


def same(before: dict, after: dict, what: str) -> None:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            raise Failure(f"{what}: {name}\n  before {before.get(name)}\n  after  {after.get(name)}")


def texts(top: Path) -> dict[str, bytes]:
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*")
            if p.is_file() and not p.is_symlink() and not str(p.relative_to(top)).startswith(STATE)}


def tree_diff(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    out = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if b"\0" in (old or b"") + (new or b""):
            out.append(f"binary /{name} {'changed' if old and new else 'added' if new else 'removed'}\n")
            continue
        sides = [(side or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)
                 for side in (old, new)]
        out += [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                for line in difflib.unified_diff(
                    *sides, f"/{name}" if old is not None else "absent", f"/{name}", n=1)]
    return "".join(out)


class Case:
    def __init__(self, path: Path, tool: Path, schema: object, scratch: Path, update: bool) -> None:
        self.folder, self.tool, self.schema, self.update = path.parent, tool, schema, update
        self.module = load(path)
        self.screens = getattr(self.module, "SCREENS", [])
        self.guest = Guest(scratch / "root")
        self.module.build(self.guest)
        self.guest.finish()
        after_finish = getattr(self.module, "after_finish", None)
        if after_finish:
            after_finish(self.guest)
        self.lsblk = write_lsblk(self.guest, scratch / "lsblk.json")

    def clean_up(self) -> None:
        clean_up = getattr(self.module, "clean_up", None)
        if clean_up:
            clean_up(self.guest)

    def command(self, *arguments: str) -> list[str]:
        command = [str(self.tool), "--root", str(self.guest.top), *arguments,
                   *getattr(self.module, "OPTIONS", []),
                   *(getattr(self.module, "FIX_OPTIONS", []) if "--fix" in arguments else [])]
        return command + (["--lsblk", str(self.lsblk)] if self.lsblk else [])

    def call(self, *arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(self.command(*arguments), capture_output=True, timeout=TIME_LIMIT,
                              env={"PATH": "/usr/bin:/bin", "COLUMNS": "100"})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def normal(self, text: str) -> str:
        text = RUN_ID.sub("<run>", text.replace(str(self.guest.top), "<root>"))
        return DURATION.sub(", <time>", text)

    def golden(self, name: str, text: str) -> None:
        path, now = self.folder / name, self.normal(text)
        if self.update:
            path.write_bytes(now.encode())
            return
        if not path.exists():
            raise Failure(f"{name} is missing; look at the output, then run with --update")
        golden = path.read_bytes().decode()  # as it is: a carriage return is no line end here
        if golden != now:
            diff = "".join(difflib.unified_diff(golden.splitlines(keepends=True),
                                                now.splitlines(keepends=True), name, "now"))
            raise Failure(f"{name} differs:\n{diff}")

    def report(self, *arguments: str) -> tuple[int, dict, str]:
        code, out, err = self.call("--json", *arguments)
        try:
            report = json.loads(out)
        except ValueError as error:
            raise Failure(f"no JSON from {arguments} (exit {code}): {error}\n{out}\n{err}") from error
        self.expect_no_secret(out, " ".join(arguments))
        if self.schema:
            self.schema.validate(report)
        if report["exit_code"] != code:
            raise Failure(f"exit code {code}, but the report says {report['exit_code']}")
        return code, report, out

    @property
    def secrets(self) -> list[str]:
        return getattr(self.module, "SECRETS", [])

    def expect_no_secret(self, text: str, where: str) -> None:
        for secret in self.secrets:
            if secret in text:
                raise Failure(f"{where} tells {secret}:\n{text}")

    def expect_private_runs(self) -> None:
        for path in self.guest.path(STATE).rglob("*"):
            if path.is_file() and not path.name.startswith("backup-"):
                self.expect_no_secret(path.read_bytes().decode(errors="replace"), f"a run's {path.name}")

    @staticmethod
    def expect(report: dict, wanted_of: dict) -> None:
        for check, wanted in wanted_of.items():
            got = [f["status"] for f in report["findings"] if f["check"] == check]
            if got != (wanted if isinstance(wanted, list) else [wanted]):
                raise Failure(f"{check}: expected {wanted}, got {got}")

    def run(self) -> None:
        start = fingerprint(self.guest.top, with_directory_times=True)
        code, report, out = self.report("--check")
        self.expect(report, self.module.EXPECT)
        if code != self.module.EXIT:
            raise Failure(f"--check: expected exit {self.module.EXIT}, got {code}\n{out}")
        self.golden("report.json", out)
        self.golden("report.txt", self.call("--check")[1])
        if "check" in self.screens:
            self.check_screen()
        if self.secrets:
            self.report("--fix", "--dry-run", "--diff")
        self.golden("plan.txt", self.call("--fix", "--dry-run", "--diff")[1])
        same(start, fingerprint(self.guest.top, with_directory_times=True), "a check changed the tree")
        if hasattr(self.module, "FIX_EXIT"):
            self.fix()
        if "fix" in self.screens:
            self.fix_screen()

    def check_screen(self) -> None:
        text = on_terminal(self.command("--check"), SCREEN_COLUMNS, SCREEN_ROWS)
        self.golden("screen.txt", text)
        rows = sum(max(1, -(-len(line) // SCREEN_COLUMNS)) for line in self.normal(text).splitlines())
        if rows > SCREEN_ROWS:
            raise Failure(f"screen.txt takes {rows} rows of {SCREEN_ROWS}")

    def fix_screen(self) -> None:
        self.golden("screen-fix.txt", on_terminal(self.command("--fix"), SCREEN_COLUMNS, SCREEN_ROWS))

    def fix(self) -> None:
        start, start_texts = fingerprint(self.guest.top, False), texts(self.guest.top)
        code, report, out = self.report("--fix", *(["--diff"] if self.secrets else []))
        self.expect_private_runs()
        if code != self.module.FIX_EXIT:
            raise Failure(f"--fix: expected exit {self.module.FIX_EXIT}, got {code}\n{out}")
        self.expect(report, getattr(self.module, "FIXED", {}))
        for words in getattr(self.module, "FIX_SAYS", []):
            if words not in report["fix"]["message"]:
                raise Failure(f"--fix does not say {words!r}: {report['fix']['message']}")
        fixed = fingerprint(self.guest.top, False)
        self.golden("after.diff", tree_diff(start_texts, texts(self.guest.top)))
        if code in (4, 5):
            same(start, fixed, "a refused or failed fix left a change")
            return
        runs = sorted(os.listdir(self.guest.path(STATE))) if self.guest.path(STATE).exists() else []
        _, again, _ = self.report("--fix")
        if again["fix"]["state"] != "nothing-to-do":
            raise Failure(f"the second --fix did something: {again['fix']}")
        same(fixed, fingerprint(self.guest.top, False), "the second --fix changed the tree")
        now = sorted(os.listdir(self.guest.path(STATE))) if self.guest.path(STATE).exists() else []
        if runs != now:
            raise Failure(f"the second --fix left {set(now) - set(runs)}")
        if report["fix"]["state"] != "applied":
            return
        code, out, err = self.call("--undo")
        # 3 and 1 tell what a check says of the restored tree; 0 cannot be, or nothing was mended.
        if code not in (0, 1, 3):
            raise Failure(f"--undo: exit {code}\n{out}{err}")
        same(start, fingerprint(self.guest.top, False), "--undo did not restore the tree")


# Checks that can only warn say "warn" where they could not look as well; kdump's image is never fine
# before the switch.
CANNOT_BE = {("firmware.loader", "skip"), ("names.elsewhere", "skip"), ("kdump.image", "pass")}


def uncovered() -> list[str]:
    """Checks that lack a pass, a fail or warn, or an unknown or skip in the golden reports."""
    seen: dict[str, set[str]] = {}
    for path in HERE.glob("*/*/report.json"):
        for finding in json.loads(path.read_text())["findings"]:
            seen.setdefault(finding["check"], set()).add(finding["status"])
    kinds = ({"pass"}, {"fail", "warn"}, {"unknown", "skip"})
    return [f"no case in which {check} is {' or '.join(sorted(kind))}"
            for check, statuses in sorted(seen.items()) for kind in kinds
            if not statuses & kind and not any((check, status) in CANNOT_BE for status in kind)]


def schema_validator() -> object | None:
    try:
        import jsonschema
    except ImportError:
        print("SKIPPED: reports are not validated against the schema (python3-jsonschema is missing)")
        return None
    path = HERE.parent.parent / "packaging/report-v1.schema.json"
    return jsonschema.Draft202012Validator(json.loads(path.read_text()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    parser.add_argument("--update", action="store_true", help="write the golden files anew")
    parser.add_argument("filter", nargs="*")
    options = parser.parse_args()
    schema = schema_validator()
    passed = failed = 0
    for path in sorted(HERE.glob("*/*/case.py")):
        name = f"{path.parent.parent.name}/{path.parent.name}"
        if options.filter and not any(f in name for f in options.filter):
            continue
        try:
            with tempfile.TemporaryDirectory(prefix="case-") as scratch:
                case = Case(path, options.tool, schema, Path(scratch), options.update)
                try:
                    case.run()
                finally:
                    case.clean_up()
            passed += 1
        except (Failure, AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED {name}: {error}", flush=True)
    if not options.filter:
        for gap in uncovered():
            failed += 1
            print(f"FAILED coverage: {gap}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
