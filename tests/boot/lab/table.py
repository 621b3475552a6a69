# SPDX-License-Identifier: MIT
"""The step by step table a boot test prints."""

from __future__ import annotations

import time


class Table:
    def __init__(self) -> None:
        self._start = time.monotonic()
        self.failed = 0

    def say(self, text: str) -> None:
        print(f"      {time.monotonic() - self._start:6.0f} s  {text}", flush=True)

    def row(self, ok: bool, what: str, saw: str) -> bool:
        self.failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'}  {time.monotonic() - self._start:6.0f} s  {what}: {saw}", flush=True)
        return ok

    def verdict(self, name: str) -> int:
        total = time.monotonic() - self._start
        print(f"{name}: {'PASSED' if not self.failed else f'{self.failed} FAILED'} in {total:.0f} s", flush=True)
        return 1 if self.failed else 0
