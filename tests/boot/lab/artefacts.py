# SPDX-License-Identifier: MIT
"""What many scenarios share, built once and kept beside the base guest: other disks, what lsblk says of them in the
running guest, and host-only images, which only a running guest can make truthfully."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import layouts
from .base import digest, shared
from .disk import Disk
from .recipe import Recipe
from .run import LabError
from .vm import Bus, Host, State, Step, boot

Say = Callable[[str], None]
LSBLK = "step lsblk lsblk --json --bytes --output-all\n"

# The guest as installed, and one thing more before dracut runs as a kernel package runs it; then that thing is undone.
_IMAGES = {
    "forced": ("echo 'add_drivers+=\" nvme \"' >/etc/dracut.conf.d/50-nvme.conf", "rm /etc/dracut.conf.d/50-nvme.conf"),
    "frozen-filter": (
        "echo 'add_drivers+=\" nvme \"' >/etc/dracut.conf.d/50-nvme.conf; "
        "echo 'devices { filter = [ \"a|^/dev/vda3$|\", \"r|.*|\" ] }' >/etc/lvm/lvmlocal.conf",
        "rm /etc/dracut.conf.d/50-nvme.conf /etc/lvm/lvmlocal.conf"),
    "modprobed": ("modprobe nvme", "modprobe -r nvme"),
}
IMAGES_OF = {"el10": ("forced", "frozen-filter", "modprobed"), "el9": ("forced", "modprobed")}


@dataclass(frozen=True)
class Ground:
    """A disk that scenarios start from, never changed."""

    disk: Disk
    lsblk: Path
    key: str


def _answer(steps: dict[str, Step] | object, name: str, what: str, console: Path) -> Step:
    step = steps.get(name) if isinstance(steps, dict) else None
    if step is None or step.rc != 0:
        raise LabError(f"{what}: step {name} failed, see {console}")
    return step


def ground(recipe: Recipe, base: Disk, layout: str, host: Host, logs: Path, say: Say) -> Ground:
    key = digest(str(base.image.parent.name).encode(), inspect.getsource(layouts.LAYOUTS[layout]).encode(),
                 str(host.virtio_sector).encode())

    def build(work: Path) -> None:
        say(f"{recipe.name}: the disk '{layout}'")
        disk = layouts.LAYOUTS[layout](recipe, base, work / "disk.raw")
        disk.save_layout(work / "layout.json")
        first = boot(disk, Bus.VIRTIO, LSBLK, logs / f"{recipe.name}.{layout}", entry="0-rescue", snapshot=True,
                     host=host)
        if first.state is not State.NORMAL:
            raise LabError(f"the disk '{layout}' does not boot on virtio: {first.reason}, see {first.console}")
        listing = _answer(dict(first.steps), "lsblk", layout, first.console).out
        json.loads(listing)
        (work / "lsblk.json").write_text(listing)

    made = shared(f"{recipe.name}.disk-{layout}", key, build)
    return Ground(Disk.load(made / "disk.raw", made / "layout.json"), made / "lsblk.json", key)


def host_only_images(recipe: Recipe, base: Disk, logs: Path, say: Say) -> dict[str, Path]:
    wanted = IMAGES_OF[recipe.name]
    key = digest(base.image.parent.name.encode(), repr([(name, _IMAGES[name]) for name in wanted]).encode())

    def build(work: Path) -> None:
        say(f"{recipe.name}: host-only images, built in the guest: {', '.join(wanted)}")
        disk = base.clone(work / "disk.raw")
        script = "mkdir /usr/local/lab\n" + "".join(
            f"{_IMAGES[name][0]}\nstep {name} dracut --force /usr/local/lab/{name}.img $(uname -r)\n{_IMAGES[name][1]}\n"
            for name in wanted)
        done = boot(disk, Bus.VIRTIO, script, logs / f"{recipe.name}.images", finish=2400)
        for name in wanted:
            _answer(dict(done.steps), name, "host-only images", done.console)
        with disk.mounted() as root:
            for name in wanted:
                (work / f"{name}.img").write_bytes((root / f"usr/local/lab/{name}.img").read_bytes())
        (work / "disk.raw").unlink()

    made = shared(f"{recipe.name}.images", key, build)
    return {name: made / f"{name}.img" for name in wanted}
