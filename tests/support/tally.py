# SPDX-License-Identifier: MIT
"""How a test script says what did not hold, how much it tried, and that it could not try."""

from __future__ import annotations

SKIPPED = 77


def skip(why: str) -> int:
    print(f"SKIPPED: {why}")
    return SKIPPED


class Tally:
    """Comparisons, each told when it fails."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def same(self, what: str, saw: object, want: object, context: str = "") -> None:
        if saw == want:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {what}\n  saw  {saw}\n  want {want}\n{context}")

    def holds(self, what: str, true: object, context: str = "") -> None:
        self.same(what, bool(true), True, context)

    def finish(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
