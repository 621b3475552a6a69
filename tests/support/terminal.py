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


def on_terminal(command: list[str], columns: int = 80, rows: int = 24, timeout: int = 120) -> str:
    """What stays on one terminal of stdout and stderr of the command; lines end in \\n."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                             env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "NO_COLOR": "1"})
    os.close(theirs)
    out = b""
    try:
        while chunk := _read(ours):
            out += chunk
        child.wait(timeout)
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    return stays(out.decode().replace("\r\n", "\n"))


def stays(text: str) -> str:
    """The text without what a later "back to the first column, erase the line" took away (console_codes(4))."""
    return re.sub(r"[^\n]*\r\x1b\[K", "", text)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: the last holder of the other side is gone
        return b""
