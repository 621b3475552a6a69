# SPDX-License-Identifier: MIT
"""Every write of a guest to its disk, in order, as QEMU's blklogwrites driver notes them, and the disk made again from
them as it was at any of them.

The format is that of the kernel's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst): a super block,
then for each request one sector that describes it and its data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .run import LabError

SECTOR = 512
_MAGIC = 0x6A736677736872
_SUPER = struct.Struct("<QQQI")
_ENTRY = struct.Struct("<QQQQ")
_FLUSH, _DISCARD, _KNOWN = 1, 4, 0x1F


@dataclass(frozen=True)
class Write:
    """One request. A flush says that what came before it is on the medium; it has no data."""

    at: int         # byte of the disk
    data_at: int    # byte of the log
    size: int
    flush: bool


class WriteLog:
    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as log:
            magic, version, _, sector = _SUPER.unpack(log.read(_SUPER.size))
            if (magic, version, sector) != (_MAGIC, 1, SECTOR):
                raise LabError(f"{path}: no write log ({magic:x}, {version}, {sector})")
            self.writes = list(self._read(log))

    @staticmethod
    def _read(log) -> Iterable[Write]:
        """Not as many as the super block says: that is written now and then, and QEMU was killed."""
        where = SECTOR
        while True:
            log.seek(where)
            header = log.read(_ENTRY.size)
            if len(header) < _ENTRY.size:
                return
            sector, sectors, flags, _ = _ENTRY.unpack(header)
            if flags & ~_KNOWN or not (sectors or flags):
                return
            size = 0 if flags & _DISCARD else sectors * SECTOR
            yield Write(sector * SECTOR, where + SECTOR, size, bool(flags & _FLUSH))
            where += SECTOR + size

    def data(self, write: Write) -> bytes:
        with self._path.open("rb") as log:
            log.seek(write.data_at)
            return log.read(write.size)

    def find(self, text: bytes, start: int = 0) -> int | None:
        """The first write from `start` on in which a sector begins with this text."""
        for number in range(start, len(self.writes)):
            data = self.data(self.writes[number])
            at = data.find(text)
            while at >= 0 and at % SECTOR:
                at = data.find(text, at + 1)
            if at >= 0:
                return number
        return None

    def last_flush(self, before: int) -> int:
        """The number of writes that are surely on the medium once so many were made."""
        while before > 0 and not self.writes[before - 1].flush:
            before -= 1
        return before

    def replay(self, image: Path, numbers: Iterable[int]) -> None:
        with image.open("r+b") as disk, self._path.open("rb") as log:
            for number in numbers:
                write = self.writes[number]
                if write.size:
                    log.seek(write.data_at)
                    disk.seek(write.at)
                    disk.write(log.read(write.size))
