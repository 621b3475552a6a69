# SPDX-License-Identifier: MIT
"""swapper.py ROOT OUTSIDE NAME..: exchanges each NAME of ROOT with a link to OUTSIDE/NAME and back, until
stdin ends; then all is as it was, and the count of exchanges is printed. What is exchanged for the moment
has a name beside it, so it never leaves the root."""

import ctypes
import os
import select
import sys

EXCHANGE, AT_FDCWD = 2, -100  # of <linux/fs.h> and <fcntl.h>
libc = ctypes.CDLL(None, use_errno=True)


def exchange(one: str, other: str) -> bool:
    return libc.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), EXCHANGE) == 0


def main() -> int:
    root, outside, *names = sys.argv[1:]
    swaps = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for name in names:
            path, link = f"{root}/{name}", f"{root}/{name}.out"
            try:
                os.symlink(f"{outside}/{name}", link)
                if exchange(path, link):
                    swaps += 1
                    if not exchange(path, link):  # the tool took the link away
                        os.rename(link, path)
                        continue
                os.unlink(link)
            except OSError:
                continue  # not there at the moment, or the parent is
    print(swaps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
