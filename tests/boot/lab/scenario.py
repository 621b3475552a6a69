# SPDX-License-Identifier: MIT
"""A scenario: one file of scenarios/, named after it. It says what is changed, never what must come of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .base import digest
from .recipe import RECIPES, Recipe
from .tree import Tree, make_generic, make_ready
from .vm import Host

DIRECTORY = Path(__file__).resolve().parent.parent / "scenarios"
_VOCABULARY = b"1"      # another number where the words of tree.py come to mean something else: all is booted again


@dataclass(frozen=True)
class Scenario:
    """The module's names, in capitals there:

    GUEST    el10 (Debian 13) or el9 (Debian 12)
    START    ready: prepared for the switch by hand; generic: only the images are, LVM's devices file is on (a guest that
             has booted with it off has lost the file to lvm2 2.03.24 and later); installed: EL as installed
    LAYOUT   the disk, see layouts.py
    HOST     what the hypervisor gives; one that changes more than the controller is outside the promise
    NEXT     a kernel package is installed before the switch, whatever is predicted
    LIVE_FIX --fix runs in the guest instead of a chroot on the build machine
    CORE     in the default test
    STANDIN  where the stand-in's nature, not the tool, lets offline differ from live: why
    """

    name: str
    about: str
    change: Callable[[Tree], None]
    source: Path
    guest: str = "el10"
    start: str = "ready"
    layout: str = "lvm"
    host: Host = Host()
    next: bool = False
    live_fix: bool = False
    core: bool = False
    standin: str = ""

    @property
    def recipe(self) -> Recipe:
        return RECIPES[self.guest]

    @property
    def changes_host(self) -> bool:
        return self.host.virtio_sector != self.host.nvme_sector or self.host.virtio_serial == self.host.nvme_serial

    def key(self, ground: str) -> str:
        """Of what is booted; what is predicted of it has the tool's hash besides."""
        lines = self.source.read_text().splitlines(keepends=True)
        # What is booted stays the same.
        source = "".join(line for line in lines if line.strip() and not line.startswith("CORE"))
        return digest(ground.encode(), source.encode(), _VOCABULARY)

    def prepare(self, tree: Tree) -> None:
        if self.start != "installed":
            {"ready": make_ready, "generic": make_generic}[self.start](tree)

    def apply(self, tree: Tree) -> None:
        self.change(tree)


def _load(path: Path) -> Scenario:
    spec = importlib.util.spec_from_file_location(f"scenario_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fields = {name.lower(): value for name, value in vars(module).items() if name.isupper()}
    return Scenario(path.stem, " ".join((module.__doc__ or "").split()), module.change, path, **fields)


def load_all(directory: Path = DIRECTORY) -> list[Scenario]:
    return [_load(path) for path in sorted(directory.glob("*.py")) if not path.stem.startswith("_")]
