# SPDX-License-Identifier: MIT
"""What a command prints on a terminal of a given size."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios


class Terminal:
    """A command on a terminal of its own, which is where its keys come from. A context manager: the command is killed
    at the end if it has not ended."""

    def __init__(self, command: list[str], columns: int = 80, rows: int = 24) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.child = subprocess.Popen(["setsid", "--ctty", *command], stdin=theirs, stdout=theirs, stderr=theirs,
                                      env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "NO_COLOR": "1"})
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()
        self.hang_up()

    def type(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def hang_up(self) -> None:
        """The connection is lost."""
        if self.ours >= 0:
            os.close(self.ours)
            self.ours = -1

    def rest(self, timeout: int = 120) -> str:
        """What was printed until the command ended, as it was printed; lines end in \n."""
        out = b""
        while chunk := self._read():
            out += chunk
        self.child.wait(timeout)
        return out.decode().replace("\r\n", "\n")

    def _read(self) -> bytes:
        try:
            return os.read(self.ours, 65536)
        except OSError:  # EIO: the last holder of the other side is gone
            return b""


def on_terminal(command: list[str], columns: int = 80, rows: int = 24, timeout: int = 120) -> str:
    """What stays on one terminal of stdout and stderr of the command; lines end in \n."""
    with Terminal(command, columns, rows) as terminal:
        return stays(terminal.rest(timeout))


def stays(text: str) -> str:
    """The text without what a later "back to the first column, erase the line" took away (console_codes(4))."""
    return re.sub(r"[^\n]*\r\x1b\[K", "", text)
