#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the seed corpora of the fuzz targets from the case guests: tests/fuzz/corpus/<target>/.

Every case's tree is built and the files that a target is for are taken from it, equal ones once.
Inputs named otherwise than seed-* (crashes that were fixed, what a fuzzer found) are left alone.

usage: make_corpus.py
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import guest as guests  # noqa: E402

SEPARATOR = b"\x1e"
SEED_CAP = 8 << 10  # bytes of one seed
COMPRESSORS = (["gzip", "-9n"], ["bzip2", "-9"], ["xz", "--check=crc32"], ["lzma"], ["zstd", "-19", "-q"],
               ["lz4", "-9", "-l", "-q"])

# Which files of a guest are an input as they are.
FILES = {
    "bls": "boot/loader/entries/*.conf",
    "grub_config": "boot/grub2/grub.cfg",
    "grubenv": "boot/grub2/grubenv",
    "os_release": "usr/lib/os-release",
    "fstab": "etc/fstab",
    "crypttab": "etc/crypttab",
    "lvm_conf": "etc/lvm/*.conf",
    "devices_file": "etc/lvm/devices/*",
    "dracut_conf": "etc/dracut.conf.d/*",
    "surroundings": "etc/multipath.conf",
    "module_index": "usr/lib/modules/*/modules.dep",
    "journal": "var/lib/nvme-preflight/*/journal",
}
# Command lines: the first byte says which file the rest is.
COMMAND_LINES = {b"\0": "boot/loader/entries/*.conf", b"\1": "etc/kernel/cmdline",
                 b"\2": "etc/default/grub", b"\3": "boot/grub2/grubenv"}


class Corpus:
    def __init__(self) -> None:
        self.seeds: dict[str, set[bytes]] = {}

    def add(self, target: str, content: bytes) -> None:
        if len(content) <= SEED_CAP:
            self.seeds.setdefault(target, set()).add(content)

    def write(self) -> None:
        for target, seeds in sorted(self.seeds.items()):
            folder = HERE / "corpus" / target
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob("seed-*"):
                old.unlink()
            for seed in seeds:
                (folder / f"seed-{hashlib.sha256(seed).hexdigest()[:12]}").write_bytes(seed)
            print(f"{target:14} {len(seeds):4} seeds {sum(map(len, seeds)):7} bytes")


def load(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def content_of(top: Path, pattern: str) -> bytes:
    for path in sorted(top.glob(pattern)):
        if path.is_file() and not path.is_symlink():
            return path.read_bytes()
    return b""


def add_guest(corpus: Corpus, guest: guests.Guest) -> None:
    top = guest.top
    for target, pattern in FILES.items():
        for path in top.glob(pattern):
            if path.is_file() and not path.is_symlink() and path.stat().st_size:
                corpus.add(target, path.read_bytes())
    for first, pattern in COMMAND_LINES.items():
        for path in top.glob(pattern):
            if path.is_file() and not path.is_symlink():
                corpus.add("cmdline", first + path.read_bytes())
    if guest.lsblk is not None:
        listing = json.dumps(guest.lsblk).encode()
        corpus.add("lsblk", listing)
        corpus.add("json", listing)
    add_images(corpus, top)
    corpus.add("checks", SEPARATOR.join(content_of(top, pattern) for pattern in (
        "etc/fstab", "etc/crypttab", "etc/lvm/lvm.conf", "etc/lvm/devices/system.devices",
        "etc/dracut.conf.d/*", "boot/loader/entries/*.conf", "etc/multipath.conf", "boot/initramfs-*.img")))


def add_images(corpus: Corpus, top: Path) -> None:
    for path in top.glob("boot/initramfs-*.img"):
        if not path.is_file() or path.is_symlink():
            continue
        image = path.read_bytes()
        corpus.add("image", image)
        corpus.add("decompress", image)
        if image[:2] == b"\x1f\x8b":
            try:
                archive = zlib.decompress(image, 31)
            except zlib.error:
                continue
            corpus.add("image", archive)
            for line in archive.split(b"\n"):
                if line.startswith(b"blacklist ") or line.startswith(b"install "):
                    corpus.add("modprobe_conf", line + b"\n" + SEPARATOR + b"rd.driver.pre=nvme")


def add_cases(corpus: Corpus) -> None:
    for path in sorted(HERE.parent.glob("cases/*/*/case.py")):
        with tempfile.TemporaryDirectory(prefix="corpus-") as scratch:
            guest = guests.Guest(Path(scratch) / "root")
            module = load(path)
            module.build(guest)
            guest.finish()
            add_guest(corpus, guest)


def add_compressed(corpus: Corpus) -> None:
    plain = b"070701 and what comes behind it " * 40
    archive = guests._cpio({"etc/lvm/lvm.conf": b"devices { filter = [ \"r|.*|\" ] }\n",
                            "etc/modprobe.d/x.conf": b"blacklist nvme\n"}, {"lib": "usr/lib"})
    for compressor in COMPRESSORS:
        for content, target in ((plain, "decompress"), (archive, "image")):
            packed = subprocess.run(compressor, input=content, capture_output=True, check=True).stdout
            corpus.add(target, packed)
            if target == "image":
                corpus.add(target, archive + b"\0" * 512 + packed)


def kmod_node(prefix: bytes, children: dict[int, int], values: list[tuple[int, bytes]]) -> tuple[int, bytes]:
    """Flags and bytes of one node of a .bin index (kmod libkmod-index.c, "Disk format")."""
    flags, body = 0, b""
    if prefix:
        flags |= 0x80000000
        body += prefix + b"\0"
    if children:
        flags |= 0x20000000
        first, last = min(children), max(children)
        body += bytes([first, last])
        body += b"".join(struct.pack(">I", children.get(c, 0)) for c in range(first, last + 1))
    if values:
        flags |= 0x40000000
        body += struct.pack(">I", len(values))
        body += b"".join(struct.pack(">I", priority) + text + b"\0" for priority, text in values)
    return flags, body


def add_kmod_indexes(corpus: Corpus) -> None:
    for keys in ({b"nvme": b"kernel/nvme.ko: kernel/core.ko"},
                 {b"nvme": b"a.ko:", b"virtio_blk": b"b.ko:"},
                 {b"pci:v*d*sv*sd*bc01sc08i02*": b"nvme", b"pci:v00001AF4d*": b"virtio_pci"},
                 {b"[a-c]x": b"m", b"": b"root"}):
        out, children, root_values = b"\xb0\x07\xf4\x57\x00\x02\x00\x01" + b"\0\0\0\0", {}, []
        for key, value in keys.items():
            if not key:
                root_values.append((1, value))
                continue
            flags, body = kmod_node(key[1:], {}, [(1, value)])
            children[key[0]] = len(out) | flags
            out += body
        flags, body = kmod_node(b"", children, root_values)
        root = struct.pack(">I", len(out) | flags)
        index = out[:8] + root + out[12:] + body
        for key in list(keys) + [b"pci:v00001AF4d00001001"]:
            corpus.add("kmod_index", key + SEPARATOR + index)


def add_texts(corpus: Corpus) -> None:
    """What no case guest holds."""
    for line in ("/dev/vda2 /boot xfs defaults 0 0\n/dev/vda1\t/boot/efi vfat umask=0077,nofail 0 2 # x\n",
                 "  /dev/disk/by-id/virtio-1-part4 none swap sw\r\n#/dev/vda3 / xfs\n/dev/vda2\\040x / xfs\n"):
        corpus.add("fstab", line.encode())
    for line in ("luks-1 /dev/vda4 none discard\n", "a\t/dev/disk/by-path/pci-0000:00:04.0-part4\nb UUID=x - nofail\n",
                 "swap /dev/vda4 /dev/urandom swap,noauto\n"):
        corpus.add("crypttab", line.encode())
    for first in (b"\0", b"\1", b"\2", b"\3"):
        for words in (b"root=/dev/vda2 ro", b"ro resume=/dev/vda4 quiet", b'root="/dev/vda1" -- root=/dev/vda2'):
            before = {b"\0": b"title x\noptions ", b"\1": b"", b"\2": b"GRUB_CMDLINE_LINUX='",
                      b"\3": b"# GRUB Environment Block\nkernelopts="}[first]
            after = {b"\2": b"'\n", b"\3": b"\n" + b"#" * 50}.get(first, b"\n")
            corpus.add("cmdline", first + before + words + after)
    for patterns in (b"a|^/dev/vda3$|\nr|.*|\n", b"a/.*/\n", b"r|/dev/[sv]d[a-z]|\na|(x|y)+z?|", b'r".*"'):
        corpus.add("lvm_filter", patterns)
    for text in (b"install nvme /bin/true\nalias pci:v* nvme_core\n\x1emodprobe.blacklist=nvme,nvme_core",
                 b"softdep nvme pre: a b post: c\nblacklist nvme \\\n more\n\x1erd.driver.blacklist=nvme quiet",
                 b"blacklist nvme-core\n\x1eroot=x module_blacklist=nvme -- initcall_blacklist=nvme_init"):
        corpus.add("modprobe_conf", text)
    for text in (b"KERNEL==\"vd[a-z]\", SYMLINK+=\"x\"\n", b"After=dev-vda3.device\n# /dev/vda\n/dev/vda1 x\n",
                 b"defaults {\n find_multipaths \"greedy\"\n}\nblacklist { devnode nvme }\n",
                 b"dev-disk-by\\x2did-virtio\\x2d1.device"):
        corpus.add("surroundings", text)
    for a, b in ((b"a\nb\nc\n", b"a\nx\nc\n"), (b"", b"new\n"), (b"old", b""), (b"a\nb", b"a\nb\n"),
                 (b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", b"1\n2\n3\n4\n6\n7\n8\n9\n10\n")):
        corpus.add("diff", a + SEPARATOR + b)
    for text in (b'a="x $b y"\nb+=" c "\n', b"x = y\n", b"a='b\\c'\\\n d\n", b'# c\nexport a=1\na="$a"\n',
                 b'hostonly="yes"\n' + SEPARATOR + b'add_drivers+="nvme"\n' + SEPARATOR + b'add_drivers+=" virtio_blk "\n'):
        corpus.add("dracut_conf", text)
    for text in (b'set default="${saved_entry}"\nif [ -s $prefix/grubenv ]; then\n  load_env\nfi\nblscfg\n',
                 b"menuentry 'Rocky' --class rocky --id 'gnulinux-1' {\n\tlinux /k root=/dev/vda1\n}\nblscfg\n",
                 b"function f {\n set x=1\n}\nif a; then set b=c; elif d; then set e=f; else set g=\"h\"; fi\n",
                 b"search --fs-uuid --set=dev 1\nset prefix=($dev)/grub2\nexport $prefix\nconfigfile $prefix/grub.cfg\n",
                 b"submenu 'a' {\n menuentry \"b\" {\n }\n}\nset kernelopts=\"root=/dev/vda3 \\\nro\"\n# c\n"):
        corpus.add("grub_config", text)
    corpus.add("bls", b"title a\nversion 5.14.0-1.el9\nlinux /k\noptions $kernelopts $tuned_params ro\n" + SEPARATOR
               + b"title b\nversion 5.14.0+2\nlinux\t/k\n")
    for text in (b'{"a":[1,2.5,-3,null,true,"\\u00e9\\n"],"b":{}}', b"[[[[[]]]]]", b"\"\xc3\xa9\"", b"1e400",
                 b"18446744073709551615"):
        corpus.add("json", text)
    header = bytearray(0x420)
    header[0x1f1] = 4
    header[0x1fe:0x200] = b"\x55\xaa"
    header[0x202:0x206] = b"HdrS"
    header[0x20e:0x210] = struct.pack("<H", 0x210)
    header[0x410:0x41f] = b"5.14.0-500.el9 "
    corpus.add("kernel_header", bytes(header))
    corpus.add("kernel_header", b"MZ kernel")
    corpus.add("module_index", b"alias pci:v*d*sv*sd*bc01sc08i02* nvme\nalias virtio:d00000002v* virtio_blk\n")
    corpus.add("module_index", b"kernel/fs/ext4/ext4.ko\nkernel/drivers/nvme/host/nvme-core.ko\n")
    corpus.add("module_index", b"pci:v[0-9]*\\d?\x1epci:v1d2")
    add_journals(corpus)


def add_journals(corpus: Corpus) -> None:
    run = "20261130T210000Z-1"
    begin = json.dumps({"event": "begin", "schema": "nvme-preflight/journal/1", "run": run,
                        "tool": "nvme-preflight 0.1.0", "time": "2026-11-30T21:00:00Z", "boot_id": ""})
    digest = {"size": 5, "crc32": 6}
    created = [{"event": "directory", "path": "/etc/dracut.conf.d"},
               {"event": "file", "path": "/etc/dracut.conf.d/zz.conf", "existed": False},
               {"event": "place", "file": 0, "placed": digest}]
    edited = [{"event": "file", "path": "/etc/fstab", "existed": True, "backup": "backup-0", "original": digest,
               "attributes": {"mode": 0o644, "uid": 0, "gid": 7, "atime": [1, 2], "mtime": [-1, 999999999],
                              "xattrs": [["757365722e78", "00ff"]]}},
              {"event": "devices-file", "path": "/etc/lvm/devices/system.devices", "backup": "backup-d"}]
    for rest in ([], created, edited, created + [{"event": "state", "state": "committed"}],
                 [{"event": "state", "state": "undoing"}], [{"event": "state", "state": "undone"}]):
        text = "\n".join([begin] + [json.dumps(event) for event in rest])
        corpus.add("journal", text.encode() + b"\n")
        corpus.add("journal", text.encode())


def add_lvm_corpus(corpus: Corpus) -> None:
    """The odd texts of the unit tests: C++ string literals without adjacent pieces."""
    import ast
    text = (HERE.parent / "unit/lvm_corpus.h").read_text()
    for line in text.splitlines():
        line = line.strip().rstrip(",")
        if line.startswith('"') and line.endswith('"') and line.count('"') - line.count('\\"') == 2:
            corpus.add("lvm_conf", ast.literal_eval("b" + line))


def main() -> None:
    corpus = Corpus()
    add_cases(corpus)
    add_compressed(corpus)
    add_kmod_indexes(corpus)
    add_texts(corpus)
    add_lvm_corpus(corpus)
    corpus.write()


if __name__ == "__main__":
    main()
