# SPDX-License-Identifier: MIT
"""Judges from a system-call trace whether a program stayed inside a root directory.

strace -y names every descriptor by the path it leads to. From the moment the root itself is opened
(O_PATH), whatever names a file must
  - be relative to a descriptor that leads to the root or into it,
  - name one component: no '/' and not "..", so that no link on the way is followed by the kernel,
  - not follow a link at that component (O_NOFOLLOW, AT_SYMLINK_NOFOLLOW or a call that never does),
and what is opened must lie in the root. Other absolute names are those of the host that have nothing to
do with the guest: ALLOWED.
"""

from __future__ import annotations

import re
from pathlib import Path

LINE = re.compile(r"^(?:\d+\s+)?(?P<call>\w+)\((?P<arguments>.*)\)\s+= (?P<result>.*)$")
AT = re.compile(r"^(?P<fd>AT_FDCWD|\d+)(?:<(?P<path>.*?)>)?, \"(?P<name>(?:[^\"\\]|\\.)*)\"(?P<rest>.*)$")
PLAIN = re.compile(r"^\"(?P<name>(?:[^\"\\]|\\.)*)\"")
OPENED = re.compile(r"^\d+<(?P<path>.*)>$")

# The C library's and the tool's own, never of the guest.
ALLOWED = ("/proc/self/", "/etc/ld.so", "/usr/lib/", "/lib/", "/etc/localtime", "/dev/null", "/proc/filesystems",
           "/sys/fs/selinux", "/proc/mounts", "/etc/selinux")
# These name what is read in their answer alone, or work on a descriptor.
NEVER_FOLLOW = {"readlinkat", "readlink", "unlinkat", "mkdirat", "linkat", "symlinkat", "renameat", "renameat2", "lstat"}


class Trace:
    @staticmethod
    def command(log: Path) -> list[str]:
        return ["strace", "-f", "-y", "-s", "4096", "-e", "trace=%file,openat2,fchmodat,fchownat", "-o", str(log)]

    def __init__(self, log: Path, root: Path, lsblk: Path | None) -> None:
        self.root = str(root)
        self.lsblk = str(lsblk) if lsblk else None
        self.opens = 0
        self.touched: set[str] = set()  # names in the tree that were opened for what they hold
        self.faults: list[str] = []
        begun = False
        for line in log.read_text("utf-8", "backslashreplace").splitlines():
            found = LINE.match(line)
            if not found or found["call"] in ("execve", "execveat"):
                continue
            if not begun and f'"{self.root}"' in found["arguments"] and "O_PATH" in found["arguments"]:
                begun = True
                continue
            if begun or self.names_guest(found["arguments"]):
                self.judge(found["call"], found["arguments"], found["result"], line)

    def names_guest(self, arguments: str) -> bool:
        return f'"{self.root}/' in arguments or "outside" in arguments

    def inside(self, path: str) -> bool:
        path = path.removesuffix(" (deleted)")
        return path == self.root or path.startswith(self.root + "/")

    def fault(self, why: str, line: str) -> None:
        self.faults.append(f"{why}: {line[:300]}")

    def judge(self, call: str, arguments: str, result: str, line: str) -> None:
        at = AT.match(arguments)
        if re.match(r"^\d+<.*>(\(deleted\))?, (\"\"|NULL)", arguments):
            return  # of a descriptor itself: it was judged when it was opened
        if at is None or at["fd"] == "AT_FDCWD" or at["name"].startswith("/"):
            self.judge_plain(at["name"] if at else "", arguments, line)
            return
        if at["path"] is None or not self.inside(at["path"]):
            if not self.is_lsblk(at["path"], at["name"]):
                self.fault("relative to what is not in the root", line)
            return
        self.opens += 1
        name = at["name"]
        if "/" in name or name == "..":
            self.fault("more than one component", line)
        if name not in ("", ".") and call not in NEVER_FOLLOW and "NOFOLLOW" not in at["rest"] and "AT_EMPTY_PATH" not in at["rest"]:
            self.fault("would follow a link", line)
        opened = OPENED.match(result)
        if opened and not self.inside(opened["path"]):
            self.fault("opened what is not in the root", line)
        if opened:
            self.note(opened["path"])

    def note(self, path: str) -> None:
        if path.startswith(self.root + "/"):
            self.touched.add(path[len(self.root) + 1:])

    def is_lsblk(self, folder: str | None, name: str) -> bool:
        return self.lsblk is not None and folder is not None and self.lsblk == f"{folder.rstrip('/')}/{name}"

    def judge_plain(self, name: str, arguments: str, line: str) -> None:
        plain = PLAIN.match(arguments)
        name = name or (plain["name"] if plain else "")
        if name == self.root or name == "/" or name.startswith(ALLOWED):
            return
        if self.lsblk and (self.lsblk == name or str(Path(self.lsblk).parent) == name):
            return
        self.fault("a whole path", line)
