# SPDX-License-Identifier: MIT
"""Runs commands for another process and says how much memory each took.

A process of its own, because ru_maxrss of a program begins with the size of the process that started it
(fork and exec keep the high-water mark): the tests grow, this does not. One JSON object a line in, one out.
"""

import json
import os
import subprocess
import sys
import threading
import time


def run(order: dict) -> dict:
    with open(order["out"], "wb") as out, open(order["err"], "wb") as err:
        started = time.monotonic()
        child = subprocess.Popen(order["command"], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 env={"PATH": "/usr/bin:/bin"})
        guard = threading.Timer(order["limit"], child.kill)
        guard.start()
        _, status, usage = os.wait4(child.pid, 0)
        guard.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        return {"code": child.returncode, "memory": usage.ru_maxrss, "seconds": time.monotonic() - started}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
