#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The images that Debian 13's dracut made in the lab's guest (host-only and rescue), read by image_dump
and by lsinitrd, cpio and kmod: tests/support/image_oracle.sh compares them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab import cli

ORACLE = cli.REPO / "tests/support/image_oracle.sh"
TIME_LIMIT = 1500


def compare(lab: cli.Lab) -> None:
    """Compare image_dump with other people's tools on the guest's own images."""
    disk = lab.clone("images")
    arguments: list[str] = []
    with disk.mounted() as root:
        kernel = next((root / "lib/modules").iterdir()).name
        for image in sorted((root / "boot").glob("initramfs-*.img")):
            copy = lab.work / image.name
            copy.write_bytes(image.read_bytes())
            arguments += [str(copy), kernel]
    done = subprocess.run([str(ORACLE), str(lab.tool), *arguments], timeout=TIME_LIMIT,
                          capture_output=True, text=True, check=False)
    lab.table.row(done.returncode == 0, f"{len(arguments) // 2} images of kernel {kernel}",
                  done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(cli.main("guest_images", compare, needs_tool=True))
