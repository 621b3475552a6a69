# SPDX-License-Identifier: MIT
"""Images that nobody's tools make: bombs, lies in headers, names that climb."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

COMPRESSORS = {
    "gzip": ["gzip", "-1n"], "bzip2": ["bzip2", "-1"], "xz": ["xz", "-0", "--check=crc32"], "lzma": ["lzma", "-0"],
    "zstd": ["zstd", "-1", "-q"], "lz4": ["lz4", "-1", "-l", "-q"],
}
DIRECTORY, REGULAR, LINK = 0o040755, 0o100644, 0o120777
ZEROS = bytes(1 << 20)


def entry(name: bytes, data: bytes = b"", mode: int = REGULAR, nlink: int = 1, ino: int = 0,
          size: int | None = None, name_size: int | None = None) -> bytes:
    header = b"070701" + b"".join(b"%08X" % value for value in (
        ino, mode, 0, 0, nlink, 0, len(data) if size is None else size, 8, 1, 0, 0,
        len(name) + 1 if name_size is None else name_size, 0))
    text = header + name + b"\0"
    text += b"\0" * (-len(text) % 4)
    return text + data + b"\0" * (-len(data) % 4)


def trailer() -> bytes:
    return entry(b"TRAILER!!!", mode=0)


def folders(*names: str) -> bytes:
    return b"".join(entry(name.encode(), mode=DIRECTORY) for name in names)


def archive(*entries: bytes) -> bytes:
    return b"".join(entries) + trailer()


def write_bomb(path: Path, compressor: str, size: int) -> None:
    """One member that unpacks to an archive with files of zeros, `size` bytes in all."""
    with path.open("wb") as out:
        packer = subprocess.Popen(COMPRESSORS[compressor], stdin=subprocess.PIPE, stdout=out)
        assert packer.stdin
        packer.stdin.write(folders("etc", "etc/lvm"))
        one = 600 << 20
        for i in range(size // one + 1):
            packer.stdin.write(entry(b"etc/lvm/lvm.conf" if i == 0 else b"etc/%d" % i, size=one))
            for _ in range(one // len(ZEROS)):
                packer.stdin.write(ZEROS)
        packer.stdin.write(trailer())
        packer.stdin.close()
        assert packer.wait() == 0


def write_many_bombs(path: Path, compressor: str, size: int) -> None:
    """Archives of 64 MiB of zeros one behind the other, each compressed by itself, `size` bytes in all."""
    one = 64 << 20
    bomb = packed(COMPRESSORS[compressor], archive(folders("etc"), entry(b"etc/zeros", bytes(one))))
    with path.open("wb") as out:
        for _ in range(size // one + 1):
            out.write(bomb)


def write_full_image(path: Path) -> None:
    """As much content as one image may have kept: all of it is asked for by the checks."""
    parts = [folders("etc", "etc/cmdline.d")]
    parts += [entry(b"etc/cmdline.d/%d.conf" % i, b"x" * (250 << 10)) for i in range(60)]
    path.write_bytes(packed(COMPRESSORS["zstd"], archive(*parts)))


def write_image_of_names(path: Path, count: int) -> None:
    """Many files in a real archive, without their list in memory here."""
    with path.open("wb") as out:
        packer = subprocess.Popen(COMPRESSORS["zstd"], stdin=subprocess.PIPE, stdout=out)
        assert packer.stdin
        for start in range(0, count, 10000):
            packer.stdin.write(b"".join(entry(b"%x" % i) for i in range(start, min(start + 10000, count))))
        packer.stdin.write(trailer())
        packer.stdin.close()
        assert packer.wait() == 0


def packed(compressor: list[str], data: bytes) -> bytes:
    return subprocess.run(compressor, input=data, capture_output=True, check=True).stdout


def lzma_with_dictionary(size: int) -> bytes:
    data = bytearray(packed(["lzma", "-0"], archive(entry(b"a", b"x"))))
    data[1:5] = struct.pack("<I", size)
    return bytes(data)


def zstd_with_window(log: int) -> bytes:
    # Frame header: no single segment, no content size; the window descriptor's exponent is log - 10.
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3])
    block = archive(entry(b"a", b"x"))
    return frame + struct.pack("<I", len(block) << 3 | 1)[:3] + block


MANY = 200_000


def odd_images() -> Iterator[tuple[str, Callable[[Path], None], bool]]:
    """Name, writer, and whether the reader (not the kernel) gives up, so that all is unknown."""
    def writes(data: bytes) -> Callable[[Path], None]:
        return lambda path: path.write_bytes(data)

    yield "names that climb and absolute names", writes(archive(
        folders("etc"), entry(b"../../../../etc/passwd", b"x"), entry(b"/etc/shadow", b"x"),
        entry(b"etc/../../../tmp/x", b"x"), entry(b"a/../../b", b"x"), entry(b"..", mode=DIRECTORY),
        entry(b"/", mode=DIRECTORY), entry(b".", mode=DIRECTORY),
        entry(b"l", b"../../../../../../../..", LINK), entry(b"l/etc/lvm/lvm.conf", b"x"))), False
    for size in (0xffffffff, 0xfffffffe, 0xfffffffd, 0x80000000, 0x7fffffff):
        yield f"a file of {size:#x} bytes", writes(archive(entry(b"etc", mode=DIRECTORY), entry(b"etc/cmdline", b"x", size=size))), False
        yield f"a name of {size:#x} bytes", writes(archive(entry(b"a", b"x", name_size=size))), False
        yield f"a link of {size:#x} bytes", writes(archive(entry(b"a", b"x", LINK, size=size))), False
    yield "hard links in a ring", writes(archive(
        folders("etc", "etc/cmdline.d"),
        *(entry(b"etc/cmdline.d/%d.conf" % i, b"", nlink=4, ino=7) for i in range(3)),
        entry(b"etc/cmdline.d/0.conf", b"x", nlink=4, ino=7), entry(b"etc/cmdline.d/1.conf", b"y", nlink=4, ino=7))), False
    yield "a hard link to itself", writes(archive(*(entry(b"a", b"x" * 9, nlink=2, ino=1) for _ in range(3)))), False
    yield "hard links of one large file", writes(archive(
        folders("etc", "etc/cmdline.d"),
        *(entry(b"etc/cmdline.d/%d.conf" % i, b"" if i < 999 else b"x" * (1 << 20), nlink=1000, ino=3) for i in range(1000)))), False
    yield "links in a circle", writes(archive(
        *(entry(b"l%d" % i, b"l%d" % ((i + 1) % 50), LINK) for i in range(50)), entry(b"l0/x", b"x"), entry(b"etc", b"etc", LINK))), False
    yield "a chain of links", writes(archive(
        *(entry(b"d%d" % i, b"d%d/" % (i + 1) * 200, LINK) for i in range(2000)), entry(b"d0/x", b"x"))), False
    yield "names of escapes", writes(archive(
        folders("usr", "usr/lib", "usr/lib/modules", "usr/lib/modules/\x1b[2J\n", "etc", "etc/cmdline.d", "etc/modprobe.d"),
        entry(b"etc/cmdline.d/\x1b[31m.conf", b"root=/dev/vda3\x1b]0;x\x07 \xff\n"),
        entry(b"etc/modprobe.d/\x9b\n.conf", b"blacklist nvme\x1b[2J\ninstall nvme \x1b[2J\n"))), False
    yield f"{MANY} files", writes(archive(*(entry(b"%x" % i) for i in range(MANY)))), False
    yield f"{3 * MANY} files", lambda path: path.write_bytes(packed(COMPRESSORS["zstd"], archive(*(entry(b"%x" % i) for i in range(3 * MANY))))), True
    yield "long names", writes(packed(COMPRESSORS["zstd"], archive(
        folders(*("/".join(["d" * 250] * (i + 1)) for i in range(15))),
        *(entry(("/".join(["d" * 250] * 15) + f"/{i}").encode()) for i in range(20000))))), True
    yield "a modules.dep of 10^6 lines", writes(packed(COMPRESSORS["zstd"], archive(
        folders("usr", "usr/lib", "usr/lib/modules", "usr/lib/modules/5.14.0-500.el9.x86_64"),
        entry(b"usr/lib/modules/5.14.0-500.el9.x86_64/modules.dep.bin"),
        entry(b"usr/lib/modules/5.14.0-500.el9.x86_64/modules.dep", b"".join(b"%x:\n" % i for i in range(10**6)))))), False
    yield "a modprobe.d of lines", writes(packed(COMPRESSORS["zstd"], archive(
        folders("usr", "usr/lib", "usr/lib/modules", "usr/lib/modules/5.14.0-500.el9.x86_64", "etc", "etc/modprobe.d"),
        entry(b"etc/modprobe.d/a.conf", b"blacklist nvme\n" * 500000)))), False
    # The kernel knows lzma by 5d 00; anything else it takes for rubbish, which is a fault and no doubt.
    yield "a dictionary of 4 GiB", writes(lzma_with_dictionary(0xffffff00)), True
    yield "a dictionary that is no magic", writes(lzma_with_dictionary(0xffffffff)), False
    yield "an index of 10^6 names", writes(packed(COMPRESSORS["zstd"], archive(
        folders("usr", "usr/lib", "usr/lib/modules", "usr/lib/modules/5.14.0-500.el9.x86_64"),
        entry(b"usr/lib/modules/5.14.0-500.el9.x86_64/modules.dep.bin", b"\0" * (9 << 20)),
        entry(b"usr/lib/modules/5.14.0-500.el9.x86_64/modules.builtin", b"".join(b"%x.ko\n" % i for i in range(10**6))[:8 << 20]),
        entry(b"usr/lib/modules/5.14.0-500.el9.x86_64/modules.dep", b"".join(b"%x:\n" % i for i in range(10**6)))))), False
    yield "command lines of one letter words", writes(packed(COMPRESSORS["zstd"], archive(
        folders("etc", "etc/cmdline.d"), *(entry(b"etc/cmdline.d/%d.conf" % i, b"a " * (128 << 10)) for i in range(60))))), False
    for place in ("etc/cmdline.d", "etc/modprobe.d", "usr/lib/dracut/hooks/pre-mount", "lib/dracut/hooks/initqueue/finished",
                  "etc/systemd/system", "usr/lib/udev/rules.d", "etc/lvm"):
        parents = ["/".join(place.split("/")[:i + 1]) for i in range(place.count("/") + 1)]
        yield f"30000 links in {place} to one file", writes(packed(COMPRESSORS["zstd"], archive(
            folders(*parents), entry(place.encode() + b"/a.conf", (b"a /dev/vda \n" * 30000)[:250 << 10]),
            *(entry(b"%s/%d.conf" % (place.encode(), i), b"a.conf", LINK) for i in range(30000))))), False
    yield "a hook of one line", writes(packed(COMPRESSORS["zstd"], archive(
        folders("lib", "lib/dracut", "lib/dracut/hooks", "lib/dracut/hooks/initqueue", "lib/dracut/hooks/initqueue/finished"),
        entry(b"lib/dracut/hooks/initqueue/finished/devexists-a.sh", b"/dev/vda " * 28000)))), False
    wants = ["etc", "etc/systemd", "etc/systemd/system", "etc/systemd/system/a.wants"]
    yield "10000 links to one folder of 10000 units", writes(packed(COMPRESSORS["zstd"], archive(
        folders(*wants), *(entry(b"etc/systemd/system/a.wants/%d.device" % i) for i in range(10000)),
        *(entry(b"etc/systemd/system/%d.wants" % i, b"a.wants", LINK) for i in range(10000))))), False
    yield "tables of old names", writes(packed(COMPRESSORS["zstd"], archive(
        folders("etc"), entry(b"etc/fstab", b"/dev/vda2 / xfs\n" * 16000), entry(b"etc/crypttab", b"a /dev/vda4\n" * 20000)))), False
    yield "a window of 2 GiB", writes(zstd_with_window(31)), True
    yield "a window of 512 MiB", writes(zstd_with_window(29)), True
    yield "100000 members", writes(packed(["gzip", "-9n"], trailer()) * 100000), False
    yield "noise", writes(os.urandom(1 << 20)), False
    yield "3 GiB of zeros", lambda path: (path.touch(), os.truncate(path, 3 << 30))[0], True
