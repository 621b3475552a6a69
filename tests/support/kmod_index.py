# SPDX-License-Identifier: MIT
"""Writes kmod's binary indexes (modules.dep.bin, modules.alias.bin), the plain way: one node for
each character of a key. Format: kmod, libkmod/libkmod-index.c, "Disk format"."""

from __future__ import annotations

import struct

MAGIC, VERSION = 0xB007F457, 0x00020001
HAS_VALUES, HAS_CHILDREN = 0x40000000, 0x20000000


def index(pairs: list[tuple[str, str]]) -> bytes:
    """The index that gives each key's values in the order of `pairs`."""
    tree: dict = {}
    for priority, (key, value) in enumerate(pairs):
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node.setdefault(None, []).append((priority, value))
    body = bytearray(12)
    root = _write(tree, body)
    body[:12] = struct.pack(">III", MAGIC, VERSION, root)
    return bytes(body)


def _write(node: dict, out: bytearray) -> int:
    """Writes what is below the node, then the node; returns its offset with its flags."""
    places = {byte: _write(child, out) for byte, child in node.items() if byte is not None}
    place = len(out)
    if places:
        place |= HAS_CHILDREN
        first, last = min(places), max(places)
        out += bytes([first, last])
        for byte in range(first, last + 1):
            out += struct.pack(">I", places.get(byte, 0))
    if values := node.get(None):
        place |= HAS_VALUES
        out += struct.pack(">I", len(values))
        for priority, value in values:
            out += struct.pack(">I", priority) + value.encode() + b"\0"
    return place


def dependencies_index(text: str) -> bytes:
    """modules.dep.bin of a modules.dep."""
    lines = [line for line in text.splitlines() if line.strip()]
    return index([(_module_name(line.split(":")[0]), line) for line in lines])


def alias_index(text: str) -> bytes:
    """modules.alias.bin of a modules.alias."""
    words = [line.split() for line in text.splitlines() if line.startswith("alias ")]
    return index([(alias.replace("-", "_"), module) for _, alias, module in words])


def _module_name(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".ko")[0].replace("-", "_")
