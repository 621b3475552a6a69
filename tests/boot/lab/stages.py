# SPDX-License-Identifier: MIT
"""A run of the truth table, stage by stage. Every prediction is written down before anything boots on NVMe."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from . import artefacts, base
from .artefacts import Ground
from .disk import Disk
from .guest import Facts
from .layouts import mounted
from .observe import QUESTIONS, Outcome, Wanted, observe
from .predict import Prediction, live_script, offline, tool, write_change
from .records import Record, Store
from .run import LabError
from .scenario import Scenario
from .tree import Tree, install_tool
from .vm import Bus, State, boot

ALL = ("predict", "live", "nvme", "virtio", "next", "fix")
_LIVE_AT_ONCE = 12      # changes per guest: a few images each, and its root has 1.7 GB free
# A guest that is known to boot, and is not tried again: with 90 s one of three on two busy cores came to emergency mode.
_PATIENT = 900
_CHECK = "step check nvme-preflight --check --json\n"


@dataclass
class Job:
    """One scenario under way: its disk as the scenario left it, and what a whole boot of it has."""

    scenario: Scenario
    record: Record
    ground: Ground
    start: Disk
    disk: Disk
    wanted: Wanted


@dataclass
class Run:
    store: Store
    program: Path
    work: Path
    logs: Path
    guests: int
    bases: dict[str, Disk] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)
    troubles: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        with self.lock:
            print(f"      {time.monotonic() - self.begun:6.0f} s  {text}", flush=True)

    def logs_of(self, job: Job, what: str) -> Path:
        return self.logs / job.scenario.name / what

    def tree(self, job_ground: Ground, scenario: Scenario, root: Path) -> Tree:
        def image(name: str) -> Path:
            return artefacts.host_only_images(scenario.recipe, self.bases[scenario.guest], self.logs / "base", self.say)[name]

        return Tree(root, scenario.recipe, self.program, job_ground.lsblk, image)


def _group(scenario: Scenario) -> tuple[str, str, str]:
    return scenario.guest, scenario.start, scenario.layout


def _start_disk(run: Run, scenario: Scenario, ground: Ground) -> Disk:
    disk = ground.disk.clone(run.work / f"{'.'.join(_group(scenario))}.start.raw")
    with mounted(disk) as root:
        scenario.prepare(run.tree(ground, scenario, root))
        install_tool(root, run.program)
    return disk


def _predict(run: Run, scenario: Scenario, ground: Ground, start: Disk) -> Job:
    """Make the scenario's disk, ask the tool from outside, and keep what was changed for the live guest."""
    begun = time.monotonic()
    record = run.store.open(scenario, ground.key)
    disk = start.clone(run.work / f"{scenario.name}.raw")
    changes = run.work / "changes"
    changes.mkdir(exist_ok=True)
    with mounted(disk) as root, mounted(start) as before:
        scenario.apply(run.tree(ground, scenario, root))
        write_change(before, root, changes, scenario.name)
        wanted = Wanted.of(root, scenario.layout != "plain")
        if record.offline is None:
            record.offline = offline(run.program, root, ground.lsblk)
    record.seconds["prepare"] = round(time.monotonic() - begun)
    run.store.save(record)
    return Job(scenario, record, ground, start, disk, wanted)


def _predict_all(run: Run, scenarios: Sequence[Scenario]) -> list[Job]:
    grounds: dict[tuple[str, str], Ground] = {}
    starts: dict[tuple[str, str, str], Disk] = {}
    jobs: list[Job] = []
    for guest in sorted({one.guest for one in scenarios}):
        mine = [one for one in scenarios if one.guest == guest]
        base_disk = base.base_disk(mine[0].recipe, run.logs / "base", run.say)
        run.bases[guest] = base_disk
        for one in mine:
            place = (guest, one.layout)
            if place not in grounds:
                grounds[place] = artefacts.ground(one.recipe, base_disk, one.layout, one.host, run.logs / "base", run.say)
            if _group(one) not in starts:
                starts[_group(one)] = _start_disk(run, one, grounds[place])
    for one in scenarios:
        try:
            job = _predict(run, one, grounds[one.guest, one.layout], starts[_group(one)])
        except LabError as bad:
            raise LabError(f"scenario {one.name}: {bad}") from bad
        run.say(f"{one.name}: offline {job.record.offline}")
        jobs.append(job)
    return jobs


def _live(run: Run, jobs: Sequence[Job], number: int) -> None:
    """One guest on virtio in which each change is made, judged and taken back in turn."""
    first = jobs[0]
    disk = first.start.clone(run.work / f"live{number}.raw")
    names = [job.scenario.name for job in jobs]
    with mounted(disk) as root:
        place = root / "usr/local/lab"
        place.mkdir()
        for name in names:
            for suffix in ("tar", "gone"):
                (place / f"{name}.{suffix}").write_bytes((run.work / "changes" / f"{name}.{suffix}").read_bytes())
    done = boot(disk, Bus.VIRTIO, live_script(names), run.logs / f"live{number}", cpus=1, reach=900, finish=2400,
                host=first.scenario.host, device_wait=_PATIENT)
    disk.image.unlink()
    for job in jobs:
        step = done.steps.get(job.scenario.name)
        if step is None:
            run.troubles.append(f"{job.scenario.name}: no live prediction: {done.state.value} ({done.reason})")
            continue
        job.record.live = Prediction.of(step.rc, step.out, step.err)
        run.store.save(job.record)
        run.say(f"{job.scenario.name}: live {job.record.live}")


def _live_groups(jobs: Sequence[Job], guests: int) -> list[list[Job]]:
    """A few scenarios are shared out, so that no guest waits for another that asks about all of them."""
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault(_group(job.scenario), []).append(job)
    at_once = min(_LIVE_AT_ONCE, -(-len(jobs) // guests))
    return [group[at:at + at_once] for group in groups.values() for at in range(0, len(group), at_once)]


def _nvme(run: Run, job: Job) -> None:
    job.record.nvme, _ = observe(job.disk, Bus.NVME, job.wanted, run.logs_of(job, "nvme"), job.scenario.host)
    run.say(f"{job.scenario.name}: on NVMe {job.record.nvme}")


def _virtio(run: Run, job: Job) -> None:
    job.record.virtio, _ = observe(job.disk, Bus.VIRTIO, job.wanted, run.logs_of(job, "virtio"), job.scenario.host)
    run.say(f"{job.scenario.name}: on virtio {job.record.virtio}")


# Not the tool's reader: the guest's own bash, in dracut's order.
_HOSTONLY = r"""
cd /; . /etc/dracut.conf 2>/dev/null
for name in $(cd /; for f in /etc/dracut.conf.d/*.conf /usr/lib/dracut/dracut.conf.d/*.conf; do [ -e "$f" ] && echo "${f##*/}"; done \
  | LC_ALL=C sort -Vu); do
  for d in /etc/dracut.conf.d /usr/lib/dracut/dracut.conf.d; do [ -e "$d/$name" ] && { . "$d/$name"; break; }; done
done >/dev/null 2>&1
echo "hostonly:$hostonly"
"""


def _rebuild(run: Run, job: Job, disk: Disk) -> str:
    """The image as the scriptlet of a kernel package makes it; empty when that worked."""
    with mounted(disk) as root:
        tree = run.tree(job.ground, job.scenario, root)
        image = f"/boot/{tree.image.name}"
        command = ["dracut", "--force", image, tree.kernel]
        if "hostonly:yes" not in tree.chroot("bash", "-c", _HOSTONLY):
            tree.chroot(*command)
            return ""
    done = boot(disk, Bus.VIRTIO, f"step rebuild {' '.join(command)}\n", run.logs_of(job, "next-kernel"), cpus=1,
                reach=900, finish=2400, host=job.scenario.host, device_wait=_PATIENT)
    step = done.steps.get("rebuild")
    return "" if step and step.rc == 0 else f"{done.state.value} ({done.reason})"


def _next(run: Run, job: Job) -> None:
    record = job.record
    if record.nvme is None or not record.nvme.boots:
        return
    if not job.scenario.next and not (record.offline and record.offline.verdict == "not-ready"):
        return
    if job.scenario.changes_host or (record.offline and record.offline.failing == ("guest.supported",)):
        return      # nothing was promised
    disk = job.disk.clone(run.work / f"{job.scenario.name}.next.raw")
    failed = _rebuild(run, job, disk)
    if failed:
        run.troubles.append(f"{job.scenario.name}: the next image was not built: {failed}")
    else:
        record.next_kernel, _ = observe(disk, Bus.NVME, job.wanted, run.logs_of(job, "next-nvme"), job.scenario.host)
        run.say(f"{job.scenario.name}: the next kernel's image on NVMe {record.next_kernel}")
    disk.image.unlink()


def _fix_in_guest(run: Run, job: Job, disk: Disk) -> tuple[int, str, str]:
    script = QUESTIONS + "step fix nvme-preflight --fix --json\n"
    done = boot(disk, Bus.VIRTIO, script, run.logs_of(job, "fix"), cpus=1, reach=900, finish=2400,
                host=job.scenario.host, device_wait=_PATIENT)
    if done.state is not State.NORMAL or "fix" not in done.steps:
        raise LabError(f"--fix was not reached: {done.state.value} ({done.reason}), {Facts.of(done)}")
    step = done.steps["fix"]
    return step.rc, step.out, step.err


def _fix(run: Run, job: Job) -> None:
    record = job.record
    if record.offline is None or record.offline.verdict != "not-ready" or not record.offline.fixes:
        return
    if record.fixed and (record.fixed.verdict != "ready" or (record.fixed_nvme and record.fixed_virtio)):
        return
    begun = time.monotonic()
    disk = job.disk.clone(run.work / f"{job.scenario.name}.fixed.raw")
    if job.scenario.live_fix:
        code, out, err = _fix_in_guest(run, job, disk)
    with mounted(disk) as root:
        if not job.scenario.live_fix:
            code, out, err = tool(run.program, root, job.ground.lsblk, ["--fix", "--json"])
        record.fix = {"in": "the guest" if job.scenario.live_fix else "a chroot", "exit": code,
                      "fixes": list(record.offline.fixes), "error": err[-600:] if code else ""}
        record.fixed = offline(run.program, root, job.ground.lsblk)
        wanted = Wanted.of(root, job.scenario.layout != "plain")
    record.seconds["fix"] = round(time.monotonic() - begun)
    run.say(f"{job.scenario.name}: --fix in {record.fix['in']}: exit {code}, {record.fixed}")
    if record.fixed.verdict == "ready":
        host = job.scenario.host
        record.fixed_nvme, _ = observe(disk, Bus.NVME, wanted, run.logs_of(job, "fixed-nvme"), host)
        run.say(f"{job.scenario.name}: fixed, on NVMe {record.fixed_nvme}")
        record.fixed_virtio, done = observe(disk, Bus.VIRTIO, wanted, run.logs_of(job, "fixed-virtio"), host, _CHECK)
        if done is not None and "check" in done.steps:
            step = done.steps["check"]
            record.fixed_live = Prediction.of(step.rc, step.out, step.err)
        run.say(f"{job.scenario.name}: fixed, on virtio {record.fixed_virtio}, live {record.fixed_live}")
    disk.image.unlink()


def _each_kind_first(jobs: Iterable[Job]) -> list[Job]:
    """One of every set of fixes before a second of any: a run that is cut short has tried most kinds."""
    seen: Counter[tuple[str, ...]] = Counter()
    ranked: list[tuple[int, Job]] = []
    for job in jobs:
        kind = job.record.offline.fixes if job.record.offline else ()
        ranked.append((seen[kind], job))
        seen[kind] += 1
    return [job for _, job in sorted(ranked, key=lambda pair: pair[0])]


def _guarded(run: Run, job: Job, name: str, what: Callable[[Run, Job], None]) -> None:
    """One scenario's trouble must not cost the others their results."""
    begun = time.monotonic()
    try:
        what(run, job)
    except (LabError, OSError) as bad:
        run.troubles.append(f"{job.scenario.name}: {bad}")
        run.say(f"{job.scenario.name}: TROUBLE {bad}")
    else:
        job.record.seconds[name] = round(time.monotonic() - begun)
        run.store.save(job.record)


def _side_by_side(guests: int, tasks: Iterable[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(guests) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            for future in futures:
                future.result()
        except BaseException:       # a signal: what has begun comes to its end, the rest never begins
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run(scenarios: Sequence[Scenario], store: Store, program: Path, work: Path, logs: Path, guests: int,
        wanted: Sequence[str]) -> list[str]:
    this = Run(store, program, work, logs, guests)
    jobs = _predict_all(this, scenarios)

    def pooled(name: str, what: Callable[[Run, Job], None], chosen: Iterable[Job]) -> None:
        if name in wanted:
            _side_by_side(guests, [partial(_guarded, this, job, name, what) for job in chosen])

    if "live" in wanted:
        groups = _live_groups([job for job in jobs if job.record.live is None], guests)
        _side_by_side(guests, [partial(_live, this, group, number) for number, group in enumerate(groups)])
    pooled("nvme", _nvme, (job for job in jobs if job.record.nvme is None))
    pooled("virtio", _virtio, (job for job in jobs if job.record.virtio is None and job.record.offline
                               and job.record.offline.verdict != "not-ready"))
    pooled("next", _next, (job for job in jobs if job.record.next_kernel is None))
    pooled("fix", _fix, _each_kind_first(jobs))
    for trouble in this.troubles:
        this.say(f"TROUBLE {trouble}")
    return this.troubles
