#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills --fix and --undo, or fails them, at every system call that changes something.

A point is SCENARIO/CALL/N/FAULT: in that scenario the tool's Nth CALL is where strace(1) injects
the fault. KILL kills the tool as it enters the call; ENOSPC and EIO make the call fail once; with a
"+" it fails from then on. What must hold after each is in judge() and recover().

usage: inject.py --tool PATH [--points N] [--jobs N] [--tell] [POINT..]
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from rig import TIME_LIMIT, Failure, Rig, picture, scratch_parent, skip

OPENING = ("open", "openat", "openat2", "creat")
CHANGING = (*OPENING, "write", "pwrite64", "writev", "pwritev", "sendfile", "copy_file_range", "fsync", "fdatasync", "syncfs",
            "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link", "linkat", "symlink", "symlinkat",
            "mkdir", "mkdirat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat",
            "lchown", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "truncate",
            "ftruncate", "fallocate", "utimensat")
FAULTS = {"KILL": "signal=KILL:when={}", "ENOSPC": "error=ENOSPC:when={}", "EIO": "error=EIO:when={}"}
# A full disk stays full, a dying one does not recover.
LASTING = {"write": ("ENOSPC+", "error=ENOSPC:when={}+"), "fsync": ("EIO+", "error=EIO:when={}+")}

ONE_THREAD = ("--jobs", "1")

CALL = re.compile(r"(\w+)\((.*)")
FOR_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")


@dataclass(frozen=True)
class Scenario:
    """`template` is the tree it begins with; `also` an injection that goes with every point, from
    whose call on the points are counted."""

    mode: str
    template: str = "start"
    also: str = ""


SCENARIOS = {
    "fix": Scenario("--fix"),
    "undo": Scenario("--undo", "fixed"),
    "undo-interrupted": Scenario("--undo", "interrupted"),
    "fix-interrupted": Scenario("--fix", "interrupted"),
    # The last rename fails, so that the run puts itself back.
    "fix-fails": Scenario("--fix", also="renameat"),
}


@dataclass(frozen=True)
class Point:
    scenario: str
    call: str
    number: int
    fault: str

    def __str__(self) -> str:
        return f"{self.scenario}/{self.call}/{self.number}/{self.fault}"

    def injection(self) -> str:
        wanted = {**FAULTS, **dict([LASTING[self.call]] if self.call in LASTING else [])}[self.fault]
        return f"{self.call}:{wanted.format(self.number)}"


def parse_point(text: str) -> Point:
    scenario, call, number, fault = text.split("/")
    return Point(scenario, call, int(number), fault)


def strace(log: Path, calls: list[str], *injections: str) -> list[str]:
    """Without -f: the tool's own calls, not those of dracut, are counted and hurt; with ONE_THREAD they are all there."""
    command = ["strace", "-qq", "-s", "256", "-e", "signal=none", "-o", str(log), "-e", "trace=" + ",".join(f"?{c}" for c in calls)]
    for injection in injections:
        command += ["-e", f"inject={injection}"]
    return command


def number_of_commit(log: Path) -> int:
    """Which write() it is that says "committed" in the journal."""
    writes = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("write(")]
    return 1 + next(i for i, line in enumerate(writes) if '\\"committed\\"' in line)


def changing_calls(log: Path) -> list[tuple[str, int]]:
    """Each call that changes something, with its number among those of its name."""
    counts: collections.Counter[str] = collections.Counter()
    found = []
    for line in log.read_text(errors="replace").splitlines():
        match = CALL.match(line)
        if not match:
            continue
        name, arguments = match.groups()
        counts[name] += 1
        if name in OPENING and not FOR_WRITING.search(arguments):
            continue
        if name in ("write", "writev") and arguments.startswith(("1,", "2,")):
            continue  # the report and the progress
        found.append((name, counts[name]))
    return found


class Lab:
    """A rig with the templates of all scenarios, and the points there are."""

    def __init__(self, tool: Path) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="fault-", dir=scratch_parent())
        self.scratch = Path(self.folder.name)
        self.rig = Rig(tool, self.scratch)
        self.log = self.scratch / "strace.log"
        fix_calls = self.calls_of("fix")
        self.last_rename = max(n for call, n in fix_calls if call == "renameat")
        # Killed where it says "committed": all is in place, the journal's end is missing.
        commit = number_of_commit(self.log)
        self.rig.reset()
        self.strike(Point("fix", "write", commit, "KILL"))
        if len(self.rig.unfinished()) != 1:
            raise Failure("the interrupted run of the scenarios is not there")
        self.rig.keep("interrupted")
        # The next run's folder must not bear the same second, or there would be one more mkdir.
        stamp = self.rig.unfinished()[0].split("-")[0]
        while time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) <= stamp:
            time.sleep(0.05)

    def also(self, scenario: str) -> list[str]:
        name = SCENARIOS[scenario].also
        return [f"{name}:error=EIO:when={self.last_rename}"] if name else []

    def calls_of(self, scenario: str) -> list[tuple[str, int]]:
        chosen = SCENARIOS[scenario]
        self.rig.reset(chosen.template)
        self.rig.call(chosen.mode, *ONE_THREAD, before=strace(self.log, list(CHANGING), *self.also(scenario)))
        calls = changing_calls(self.log)
        if not chosen.also:
            return calls
        # Before that call it is scenario "fix"; its own kind can't be injected a second time.
        behind = calls.index((chosen.also, self.last_rename)) + 1
        return [(call, n) for call, n in calls[behind:] if call != chosen.also]

    def points(self) -> list[Point]:
        points = []
        for scenario in SCENARIOS:
            for call, number in self.calls_of(scenario):
                faults = list(FAULTS) + ([LASTING[call][0]] if call in LASTING else [])
                points += [Point(scenario, call, number, fault) for fault in faults]
        return points

    def strike(self, point: Point) -> subprocess.CompletedProcess:
        scenario = SCENARIOS[point.scenario]
        also = self.also(point.scenario)
        calls = [point.call, *([scenario.also] if also else [])]
        done = self.rig.call(scenario.mode, *ONE_THREAD, before=strace(self.log, calls, *also, point.injection()))
        log = self.log.read_text(errors="replace")
        hit = done.returncode == -9 if point.fault == "KILL" else "(INJECTED)" in log
        if not hit:
            raise Failure(f"the fault was not injected (exit {done.returncode})\n{log[-2000:]}")
        return done


def judge(rig: Rig, point: Point, done: subprocess.CompletedProcess, before: dict[str, tuple],
          left_before: list[str]) -> None:
    """What must hold the moment after the fault."""
    rig.expect_whole()
    rig.expect_private()
    said = done.stdout + done.stderr
    undoing = SCENARIOS[point.scenario].mode == "--undo"
    code = done.returncode
    if code == -9:
        return
    if code == 70 and point.call == "write" and point.fault == "ENOSPC+":
        code = 0  # all went well, but the report could not be written either
    if code == 0:
        rig.expect_start("exit 0 of --undo") if undoing else rig.expect_finished("exit 0 of --fix")
    elif code == 4:
        expect_unchanged(rig, point, before)
    elif code == 5 and not undoing:
        rig.expect_start("exit 5")
    elif code == 6:
        if not rig.unfinished():
            raise Failure(f"exit 6, but no run is unfinished\n{said}")
    else:
        raise Failure(f"exit {code}\n{said}")
    left = [name for name in rig.leftovers() if name not in left_before]
    if code in (0, 4, 5) and left and "could not be removed" not in said:
        # A lock that can't be removed is nobody's any more, and the next run takes it.
        if point.call not in ("unlinkat", "fsync"):
            raise Failure(f"exit {code}, left behind: {left}\n{said}")


def expect_unchanged(rig: Rig, point: Point, before: dict[str, tuple]) -> None:
    now = picture(rig.top)
    if now == before:
        return
    # --fix puts an interrupted run back before it judges anything else.
    if point.scenario == "fix-interrupted":
        rig.expect_start("exit 4")
        return
    raise Failure("exit 4, but something was changed")


def expect_notice(rig: Rig) -> str:
    """--check changes nothing, and says whether a run is unfinished and what to do."""
    before, state = picture(rig.top), picture(rig.state) if rig.state.exists() else {}
    done = rig.call("--check", "--json")
    rig.expect_code(done, 0, 1, 3)
    json.loads(done.stdout)
    if before != picture(rig.top) or state != (picture(rig.state) if rig.state.exists() else {}):
        raise Failure("--check changed something")
    unfinished = rig.unfinished()
    told = "interrupted" in done.stderr
    if told != bool(unfinished):
        raise Failure(f"unfinished: {unfinished}, but --check said: {done.stderr!r}")
    if unfinished and not (unfinished[0] in done.stderr and "--undo" in done.stderr and "--fix" in done.stderr):
        raise Failure(f"--check does not say what to do: {done.stderr!r}")
    return done.stderr


def recover(rig: Rig, how: str) -> str:
    """--undo brings back the start, --fix reaches the finished state; nothing is left behind."""
    done = rig.call(how)
    said = f"{done.stdout}{done.stderr}"
    rig.expect_code(done, 0)
    try:
        rig.expect_start(how) if how == "--undo" else rig.expect_finished(how)
        rig.expect_tidy(how)
        if rig.unfinished():
            raise Failure(f"still unfinished: {rig.unfinished()}")
    except Failure as failure:
        raise Failure(f"{failure}\n{said}") from failure
    return said


class Runner:
    def __init__(self, tool: Path) -> None:
        self.tool = tool
        self.local = threading.local()
        self.labs: list[Lab] = []
        self.lock = threading.Lock()
        self.codes: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)

    def lab(self) -> Lab:
        if not hasattr(self.local, "lab"):
            self.local.lab = Lab(self.tool)
            with self.lock:
                self.labs.append(self.local.lab)
        return self.local.lab

    def try_point(self, point: Point, how: str) -> str | None:
        lab = self.lab()
        rig = lab.rig
        rig.reset(SCENARIOS[point.scenario].template)
        try:
            before, left_before = picture(rig.top), rig.leftovers()
            done = lab.strike(point)
            with self.lock:
                self.codes[f"{point.scenario} {point.fault}"][done.returncode] += 1
            judge(rig, point, done, before, left_before)
            expect_notice(rig)
            recover(rig, how)
        except (Failure, OSError, ValueError, subprocess.TimeoutExpired) as error:
            return f"FAILED {point} then {how}: {error}"
        return None

    def tell(self, point: Point) -> None:
        """The story of one point, for people."""
        lab = self.lab()
        rig = lab.rig
        rig.reset(SCENARIOS[point.scenario].template)
        print(f"## {point}")
        done = lab.strike(point)
        print(f"exit {done.returncode}; the last calls that strace saw:")
        print("".join(f"    {line}\n" for line in lab.log.read_text().splitlines()[-3:]))
        now = picture(rig.top)
        for name in sorted(rig.changed | {n for n in now if n not in rig.start}):
            kind = ("absent" if name not in now else "old" if now[name] == rig.start.get(name)
                    else "new" if name in rig.changed else "temporary")
            print(f"    {kind:9} /{name}")
        for run in rig.runs():
            names = sorted(p.name for p in (rig.state / run).iterdir())
            print(f"    run {run}: {' '.join(names)}")
            if "journal" in names:
                for line in (rig.state / run / "journal").read_text().splitlines():
                    event = json.loads(line)
                    print("      " + " ".join(str(event[k]) for k in ("event", "path", "file", "state") if k in event))
        print(f"--check: {expect_notice(rig).strip()}")
        said = recover(rig, "--undo")
        print("--undo:\n" + said[said.index("\nRun "):said.index("\n\n", said.index("\nRun "))])
        print("Every byte, mode, owner, attribute and time is that of the start.\n")


def evenly(points: list[Point], wanted: int) -> list[Point]:
    if not wanted or wanted >= len(points):
        return points
    return [points[i * len(points) // wanted] for i in range(wanted)]


def cannot_run() -> str | None:
    if os.geteuid() != 0:
        return "must be root (the guest's dracut runs in a chroot)"
    if not shutil.which("strace"):
        return "strace is missing"
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, timeout=TIME_LIMIT).returncode != 0:
        return "strace may not trace here (ptrace is forbidden)"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    parser.add_argument("--points", type=int, default=0, help="so many, spread evenly; else every one, recovered both ways")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tell", action="store_true", help="say what happened at each POINT")
    parser.add_argument("point", nargs="*", type=parse_point)
    options = parser.parse_args()
    if why := cannot_run():
        return skip(why)
    runner = Runner(options.tool)
    if options.tell:
        for point in options.point:
            runner.tell(point)
        return 0
    all_points = runner.lab().points()
    points = options.point or evenly(all_points, options.points)
    rounds = [(point, how) for i, point in enumerate(points)
              for how in (("--undo", "--fix") if not options.points else (("--undo", "--fix")[i % 2],))]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for failure in pool.map(lambda r: runner.try_point(*r), rounds):
            if failure:
                failures += 1
                print(failure, flush=True)
    for name, codes in sorted(runner.codes.items()):
        print(f"{name:26} " + ", ".join(f"{n} x {'killed' if c == -9 else f'exit {c}'}" for c, n in sorted(codes.items())))
    print(f"fault points: {len(points)} of {len(all_points)}, runs: {len(rounds)}, failures: {failures}")
    return 1 if failures or not rounds else 0


if __name__ == "__main__":
    sys.exit(main())
