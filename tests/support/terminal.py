# SPDX-License-Identifier: MIT
"""What a command prints on a terminal of a given size."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios


def on_terminal(command: list[str], columns: int = 80, rows: int = 24, timeout: int = 120) -> str:
    """stdout and stderr of the command, both on one terminal; lines end in \\n."""
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
    return out.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: the last holder of the other side is gone
        return b""
