# SPDX-License-Identifier: MIT
"""What a command takes: wall clock, CPU time of it and all it waited for, peak memory. Medians of interleaved runs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 3600  # a hang, not a slow machine
# ru_maxrss of a new program begins with what its starter had: the starter is this, and small.
_LAUNCHER = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
begun = time.monotonic()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(pid, 0)
took = [time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status)]
open(sys.argv[1], "w").write(repr(took))
"""

Command = Sequence[str | Path]


class BenchError(Exception):
    """What was to be measured did not work."""


@dataclass(frozen=True)
class Took:
    wall: float      # seconds
    cpu: float       # seconds, user and system
    peak: float      # MiB, of the largest process


def once(command: Command, codes: Sequence[int] = (0,)) -> Took:
    words = [str(word) for word in command]
    with tempfile.NamedTemporaryFile("r", prefix="bench-") as answer:
        subprocess.run([sys.executable, "-I", "-S", "-c", _LAUNCHER, answer.name, *words], check=True,
                       stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, env={**os.environ, "LC_ALL": "C"})
        wall, cpu, peak, code = json.load(answer)
    if code not in codes:
        raise BenchError(f"exit {code}: {' '.join(words)[:600]}")
    return Took(wall, cpu, peak / 1024)


def median(samples: Sequence[Took]) -> Took:
    return Took(statistics.median(s.wall for s in samples), statistics.median(s.cpu for s in samples),
                max(s.peak for s in samples))


def interleaved(contenders: dict[str, Command], rounds: int) -> dict[str, Took]:
    """Each in turn, again and again: what disturbs the machine disturbs all of them."""
    samples: dict[str, list[Took]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, command in contenders.items():
            samples[name].append(once(command))
    return {name: median(taken) for name, taken in samples.items()}
