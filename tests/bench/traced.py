# SPDX-License-Identifier: MIT
"""What --check does that no clock shows: commands it runs, how often it opens and reads an image, files it makes."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from guests import Tree

_CALLS = "trace=execve,execveat,openat,open,openat2,creat,read,pread64,readv,mmap,memfd_create,mkdir,mkdirat,rename,renameat"
_LINE = re.compile(r"^\d+\s+(?P<call>\w+)\((?P<arguments>.*?)\)?\s+= (?P<result>-?\d+)(?:<(?P<path>[^>]*)>)?")
_READ = re.compile(r"^\d+<(?P<path>[^>]*)>")
_CREATES = re.compile(r"O_CREAT|O_TMPFILE")
TIME_LIMIT = 600


@dataclass
class Seen:
    commands: list[str] = field(default_factory=list)   # besides the tool itself
    made: list[str] = field(default_factory=list)       # files, folders
    opens: dict[Path, int] = field(default_factory=lambda: defaultdict(int))     # of images, for what they hold
    read: dict[Path, int] = field(default_factory=lambda: defaultdict(int))      # bytes of them
    reads: dict[Path, int] = field(default_factory=lambda: defaultdict(int))     # calls

    def read_once(self, tree: Tree) -> bool:
        return all(self.read[image] == image.stat().st_size for image in tree.boot_images())


def _whole_lines(log: str) -> list[str]:
    """strace cuts a call in two where another thread comes between."""
    begun: dict[str, str] = {}
    lines = []
    for line in log.splitlines():
        thread = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>").rstrip()
        elif resumed := re.search(r"<\.\.\. \w+ resumed>(.*)$", line):
            lines.append(begun.pop(thread, "") + resumed[1])
        else:
            lines.append(line)
    return lines


def watch(tool: Path, tree: Tree, *arguments: str) -> Seen:
    seen = Seen()
    images = {str(image): image for image in tree.boot_images()}
    with tempfile.NamedTemporaryFile("r", prefix="bench-trace-") as log:
        subprocess.run(["strace", "-f", "-y", "-s", "64", "-e", _CALLS, "-o", log.name,
                        *map(str, tree.command(tool, *arguments))], capture_output=True, timeout=TIME_LIMIT, check=True)
        lines = _whole_lines(log.read())
    for line in lines:
        found = _LINE.match(line)
        if not found or int(found["result"]) < 0:
            continue
        call, arguments_text, path = found["call"], found["arguments"], found["path"]
        if call.startswith("exec"):
            seen.commands.append(arguments_text)
        elif call in ("creat", "memfd_create", "mkdir", "mkdirat", "rename", "renameat") or (
                call.startswith("open") and _CREATES.search(arguments_text)):
            seen.made.append(line)
        elif call.startswith("open") and path in images and "O_PATH" not in arguments_text:
            seen.opens[images[path]] += 1
        elif call in ("read", "pread64", "readv") and (of := _READ.match(arguments_text)) and of["path"] in images:
            seen.reads[images[of["path"]]] += 1
            seen.read[images[of["path"]]] += int(found["result"])
    seen.commands = seen.commands[1:]
    return seen
