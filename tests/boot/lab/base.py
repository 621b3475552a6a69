# SPDX-License-Identifier: MIT
"""The base guest ("EL as installed"): built once, kept, never changed."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import disk, rootfs
from .disk import Disk
from .recipe import Recipe
from .run import LabError, LabUnavailable, require, run
from .vm import Bus, State, boot

_HERE = Path(__file__).resolve().parent
_COMMANDS = ("qemu-system-x86_64", "mmdebstrap", "apt-get", "unshare", "sfdisk", "losetup", "lvm", "mke2fs", "mkswap",
             "debugfs", "mount", "setpriv")
# Sources whose change makes another base; how it is watched (vm.py) and kept (this file) does not.
_SOURCES = (_HERE / "recipe.py", _HERE / "rootfs.py", _HERE / "disk.py", *sorted((_HERE.parent / "guest").iterdir()))
_KEEP = 3


def cache_dir() -> Path:
    return Path(os.environ.get("NVME_PREFLIGHT_LAB_CACHE", "/var/cache/nvme-preflight-lab"))


def check_machine() -> None:
    require(_COMMANDS)
    if os.geteuid() != 0:
        raise LabUnavailable("not root (loop devices, mmdebstrap)")


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """One builder at a time; others wait for its result."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache.glob(".el*"):     # a killed builder's: whoever holds the lock is the only one
            shutil.rmtree(left, ignore_errors=True)
        yield


def cached(cache: Path, kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """cache/kind-key, built under another name and renamed, so that a half-built one never counts."""
    final = cache / f"{kind}-{key}"
    if not final.exists():
        work = Path(tempfile.mkdtemp(prefix=f".{kind}-", dir=cache))
        try:
            work.chmod(0o755)
            build(work)
            work.rename(final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    os.utime(final)
    for old in sorted(cache.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime, reverse=True)[_KEEP:]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def shared(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """cached(), without waiting for another builder where there is nothing to build."""
    final = cache_dir() / f"{kind}-{key}"
    if final.exists():
        return final
    with locked(cache_dir()):
        return cached(cache_dir(), kind, key, build)


def plain_tree(recipe: Recipe, logs: Path, say: Callable[[str], None]) -> tuple[str, str, Callable[[Path], None]]:
    """What cached() and shared() need for the folder that has the plain distribution in tree/."""
    def build(work: Path) -> None:
        say(f"{recipe.name}: mmdebstrap {recipe.suite}")
        rootfs.bootstrap(recipe, work / "tree", logs / "mmdebstrap.log")

    key = digest(repr((recipe.suite, recipe.packages, recipe.unused_modules)).encode())
    return f"{recipe.name}.tree", key, build


def base_disk(recipe: Recipe, logs: Path, say: Callable[[str], None]) -> Disk:
    cache = cache_dir()
    logs.mkdir(parents=True, exist_ok=True)

    def build_disk(work: Path) -> None:
        say(f"{recipe.name}: dressing the tree and making the disk")
        tree = work / "tree"
        plain = cached(cache, *plain_tree(recipe, logs, say))
        run(["cp", "-a", plain / "tree", tree], timeout=300)
        rootfs.dress(recipe, tree)
        rootfs.build_rescue(recipe, tree)
        made = disk.create(recipe, tree, work / "disk.raw")
        shutil.rmtree(tree)
        say(f"{recipe.name}: first boot, building the host-only image in the guest")
        script = (rootfs.GUEST_FILES / "prepare.sh").read_text()
        first = boot(made, Bus.VIRTIO, script, logs / "prepare", entry="0-rescue", finish=1800)
        failed = [f"{name}: exit {step.rc}\n{step.err[-1500:]}" for name, step in first.steps.items() if step.rc]
        if first.state is not State.NORMAL or failed or "label" not in first.steps:
            raise LabError(f"the first boot failed: {first.state.value} ({first.reason}), {failed}; "
                           f"see {first.console}")
        if "IDTYPE" not in first.steps["devices"].out:
            raise LabError("vgimportdevices wrote no entry")
        made.save_layout(work / "layout.json")

    key = digest(repr(recipe).encode(), *(source.read_bytes() for source in _SOURCES))
    ready = shared(f"{recipe.name}.base", key, build_disk)
    return Disk.load(ready / "disk.raw", ready / "layout.json")
