# SPDX-License-Identifier: MIT
"""Taking an initramfs apart and putting it together again: leading plain cpio, then one compressed cpio."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .run import LabError, run

_HEADER = 110
_DECOMPRESS = {b"\x28\xb5\x2f\xfd": "zstd -dcq", b"\x1f\x8b": "gzip -dc", b"\xfd7zXZ": "xz -dc"}


def split(image: bytes) -> tuple[bytes, bytes]:
    """The leading plain cpio archives (microcode), and what follows."""
    at = 0
    while image[at:at + 6] in (b"070701", b"070702"):
        name_size, file_size = int(image[at + 94:at + 102], 16), int(image[at + 54:at + 62], 16)
        name = image[at + _HEADER:at + _HEADER + name_size - 1]
        at = -(-(at + _HEADER + name_size) // 4) * 4
        at = -(-(at + file_size) // 4) * 4
        if name == b"TRAILER!!!":
            while at < len(image) and image[at] == 0:
                at += 1
    return image[:at], image[at:]


def unpack(image: Path, into: Path) -> bytes:
    """Unpack the compressed part; the leading part is returned as it is."""
    early, main = split(image.read_bytes())
    tool = next((tool for magic, tool in _DECOMPRESS.items() if main.startswith(magic)), None)
    if tool is None:
        raise LabError(f"{image}: no compression known here")
    done = subprocess.run(["sh", "-c", f"cd '{into}' && {tool} | cpio -idm --quiet"], input=main,
                          capture_output=True, timeout=120, check=False)
    if done.returncode:
        raise LabError(f"{image}: {done.stderr.decode(errors='replace')[-500:]}")
    return early


def pack(tree: Path, names: str = ".") -> bytes:
    """A compressed cpio of the tree, or of the paths that find prints for `names`."""
    script = f"cd '{tree}' && find {names} -print0 | sort -z | cpio --null -o -H newc --quiet -R 0:0 | zstd -1 -q -T0"
    done = subprocess.run(["sh", "-ec", script], capture_output=True, timeout=120, check=False)
    if done.returncode:
        raise LabError(f"{tree}: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout


def plain_cpio(files: dict[str, bytes]) -> bytes:
    """An uncompressed archive, as dracut puts microcode in front."""
    with tempfile.TemporaryDirectory(prefix="lab-early-") as top:
        for name, content in files.items():
            (Path(top) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(top) / name).write_bytes(content)
        done = subprocess.run(["sh", "-ec", f"cd '{top}' && find . | sort | cpio -o -H newc --quiet -R 0:0"],
                              capture_output=True, timeout=60, check=True)
        return done.stdout


@contextmanager
def opened(image: Path) -> Iterator[Path]:
    """The image's files for editing; written back, with mode and labels kept, when the block ends."""
    with tempfile.TemporaryDirectory(prefix="lab-image-") as top:
        early = unpack(image, Path(top))
        yield Path(top)
        image.write_bytes(early + pack(Path(top)))


def reindex(top: Path, kernel: str) -> None:
    """kmod's indexes for the modules that are there now, as dracut leaves them."""
    run(["depmod", "-b", top, kernel])
