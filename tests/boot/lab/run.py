# SPDX-License-Identifier: MIT
"""Running the build machine's own commands, always bounded in time."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


class LabError(Exception):
    """The lab itself failed (not the thing it tests)."""


class LabUnavailable(Exception):
    """This machine cannot run the lab; the caller skips, loudly."""


def scrub(text: str) -> str:
    """Mirror host names belong to the machine, not into a log."""
    return re.sub(r"(\b[a-z]+://)[^/\s]+", r"\1HOST", text)


def run(
    argv: Sequence[str | Path],
    *,
    timeout: float = 300,       # even umount takes a minute where the disk is busy: it writes the whole clone back
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> str:
    """Run a command, return its stdout; a failure raises with the end of its output."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace",
                              timeout=timeout, env=env, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        raise LabError(f"{words[0]} took longer than {timeout:.0f} s") from late
    if log is not None:
        log.write_text(scrub(done.stdout + done.stderr))
    if done.returncode != 0:
        tail = scrub((done.stdout + done.stderr)[-2000:])
        raise LabError(f"{scrub(' '.join(words))[:300]}: exit {done.returncode}\n{tail}")
    return done.stdout


def require(commands: Iterable[str]) -> None:
    missing = [name for name in commands if shutil.which(name) is None]
    if missing:
        raise LabUnavailable(f"not installed: {', '.join(missing)}")
