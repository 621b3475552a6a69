#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures nvme-preflight beside what it stands in for, on real images, and says which targets are met.

CPU time (user and system, of a command and all it waited for) decides, as medians of interleaved runs: a busy machine
stretches the clock. The clock is told beside it, and decides where dracut runs side by side.
Exit code: 0 when everything could be measured, met or not; times decide no test. 77: this machine cannot.

usage: bench.py --tool PATH [--results FILE] [--rounds N] [--only SECTION..] [--tiny]
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import fix_guest
import guests
import images as image_cache
import traced
from guests import Tree
from images import KERNELS, PACKINGS, Images, base
from guest import K1
from lab.run import LabUnavailable
from measure import BenchError, Command, Took, interleaved, median, once
from tally import skip

TOOLS = ("lsinitrd", "gzip", "xz", "zstd", "lz4", "cpio", "bsdtar", "strace", "strip", "taskset")
VERSIONS = ("gzip --version", "xz --version", "zstd --version", "lz4 --version", "bsdtar --version", "cpio --version")
SIZE_LIMIT = 1.5
LSINITRD_ALL = 'for image; do lsinitrd "$image"; done'
# What administrators pass around: one look into each image, and greps for the rest.
PEER_SCRIPT = """cd "$1"; for image in boot/initramfs-*.img; do lsinitrd "$image" | grep -c 'nvme.*\\.ko'; done
grep -E '^[[:space:]]*use_devicesfile' etc/lvm/lvm.conf; grep /dev/vd etc/fstab boot/loader/entries/*.conf
ls etc/lvm/devices; exit 0"""


@dataclass
class Target:
    name: str
    wanted: str
    measured: str
    met: bool | None      # None: could not be measured

    @property
    def verdict(self) -> str:
        return {True: "met", False: "**missed**", None: "not measured"}[self.met]


@dataclass
class Report:
    """What one section found."""

    when: str = ""
    targets: list[Target] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)    # of --check, MiB

    def at_most(self, name: str, value: float, limit: float, unit: str = "x", places: int = 2) -> None:
        self.targets.append(Target(name, f"<= {limit:g}{unit}", f"{value:.{places}f}{unit}", value <= limit))

    def at_least(self, name: str, value: float, limit: float, also: str = "") -> None:
        self.targets.append(Target(name, f">= {limit:g}x", f"{value:.1f}x{also}", value >= limit))

    def holds(self, name: str, wanted: str, measured: str, met: bool) -> None:
        self.targets.append(Target(name, wanted, measured, met))

    def table(self, title: str, header: list[str], rows: list[list[str]], note: str = "") -> None:
        lines = [f"## {title}", ""] + ([note, ""] if note else [])
        lines += ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        self.tables.append("\n".join(lines) + "\n")
        print(self.tables[-1], flush=True)


def took_rows(taken: dict[str, Took], ours: str) -> list[list[str]]:
    return [[name, f"{t.wall * 1000:.0f}", f"{t.cpu * 1000:.0f}", f"{t.peak:.0f}",
             f"{t.wall / taken[ours].wall:.2f}", f"{t.cpu / taken[ours].cpu:.2f}"] for name, t in taken.items()]


TOOK_HEADER = ["", "wall ms", "CPU ms", "peak MiB", "wall ratio", "CPU ratio"]


class Bench:
    def __init__(self, tool: Path, scratch: Path, made: Images, rounds: int, tiny: bool) -> None:
        self.tool, self.scratch, self.made, self.rounds, self.tiny = tool, scratch, made, rounds, tiny
        self.slow_rounds = max(1, rounds // 3)
        self.report = Report()

    def place(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir()
        return folder

    def check(self, tree: Tree) -> Command:
        return tree.command(self.tool, "--check")

    # One image and four of them, in every packing.

    def packing(self, name: str) -> None:
        packing, top = PACKINGS[name], self.place(name)
        one = guests.guest_with(top / "one", self.made, name, (K1,), "generic")
        four = guests.guest_with(top / "four", self.made, name, KERNELS, "hostonly", rescue=True)
        self.against_decompression(packing, one)
        self.against_lsinitrd(packing, one, four)
        shutil.rmtree(top)

    def against_decompression(self, packing: image_cache.Packing, one: Tree) -> None:
        member = self.made.member("generic", packing.name)
        ours = "nvme-preflight --check, one generic image"
        taken = interleaved({
            ours: ["taskset", "-c", "0", *self.check(one)],
            packing.test: ["taskset", "-c", "0", *packing.test.split(), member],
            f"{packing.to_stdout} and cpio -t": ["sh", "-c", f'{packing.to_stdout} "$1" | cpio -t --quiet', "sh", member],
            f"{packing.to_stdout} and bsdtar -t": ["sh", "-c", f'{packing.to_stdout} "$1" | bsdtar -tf -', "sh", member],
        }, self.rounds)
        self.report.peaks.append(taken[ours].peak)
        self.report.table(f"{packing.name}: one image, beside plain decompression", TOOK_HEADER, took_rows(taken, ours))
        if packing.name in ("gzip", "xz", "zstd"):
            self.report.at_most(f"{packing.name}, one image: CPU of --check to that of `{packing.test}`",
                                taken[ours].cpu / taken[packing.test].cpu, 1.10)

    def against_lsinitrd(self, packing: image_cache.Packing, one: Tree, four: Tree) -> None:
        ours1, ours4 = "nvme-preflight --check, one image", "nvme-preflight --check, four images"
        lsinitrd1, lsinitrd4, script = "lsinitrd, that image", "lsinitrd, those four", "shell script (lsinitrd, grep)"
        taken = interleaved({
            ours1: self.check(one), lsinitrd1: ["lsinitrd", *one.boot_images()],
            ours4: self.check(four), lsinitrd4: ["sh", "-c", LSINITRD_ALL, "sh", *four.boot_images()],
            script: ["sh", "-c", PEER_SCRIPT, "sh", four.top]}, self.slow_rounds)
        self.report.peaks.append(taken[ours4].peak)
        self.report.table(f"{packing.name}: beside lsinitrd", TOOK_HEADER, took_rows(taken, ours4))
        if packing.name not in ("gzip", "xz", "zstd"):
            return
        for theirs, ours, what, limit in ((lsinitrd4, ours4, "four images", 10), (lsinitrd1, ours1, "one image", 5)):
            self.report.at_least(f"{packing.name}, {what}: CPU of lsinitrd to that of --check",
                                 taken[theirs].cpu / taken[ours].cpu, limit,
                                 f" (by the clock {taken[theirs].wall / taken[ours].wall:.1f}x)")

    # Growing with the bytes, flat in memory.

    def sizes(self) -> None:
        sizes = (1, 2) if self.tiny else (20, 100, 400)
        rows = []
        for packing in PACKINGS.values():
            trees = {size: guests.large_image(self.place(f"{packing.name}-{size}"), self.made, packing.name, size)
                     for size in sizes}
            taken = interleaved({str(size): self.check(tree) for size, tree in trees.items()}, self.slow_rounds)
            mebibytes = {size: tree.boot_images()[0].stat().st_size / (1 << 20) for size, tree in trees.items()}
            small, large = taken[str(sizes[0])], taken[str(sizes[-1])]
            rows.append([packing.name, *(f"{mebibytes[s]:.0f}: {taken[str(s)].cpu * 1000:.0f} ms, {taken[str(s)].peak:.1f} MiB"
                                         for s in sizes)])
            growth = (large.cpu / small.cpu) / (mebibytes[sizes[-1]] / mebibytes[sizes[0]])
            self.report.at_most(f"{packing.name}: CPU per byte, {sizes[-1]} MB image to {sizes[0]} MB image", growth, 1.05)
            self.report.at_most(f"{packing.name}: peak memory, {sizes[-1]} MB image to {sizes[0]} MB image",
                                large.peak / small.peak, 1.05)
            self.report.peaks.append(large.peak)
            for tree in trees.values():
                shutil.rmtree(tree.top.parent)
        self.report.table("An image of 20, 100 and 400 MB", ["MB: CPU, peak memory", *map(str, sizes)], rows)

    def growth(self) -> None:
        rows = []
        for name, (make, all_counts) in guests.GROWTH.items():
            counts = all_counts[:2] if self.tiny else all_counts
            trees = {count: make(self.place(f"many-{len(rows)}-{count}"), count) for count in counts}
            taken = interleaved({str(count): self.check(tree) for count, tree in trees.items()}, self.rounds)
            cpu = [taken[str(count)].cpu for count in counts]
            rows.append([name, *(f"{count}: {t * 1000:.1f} ms" for count, t in zip(counts, cpu))])
            steps = [(after / before) / (many / few) for before, after, few, many in zip(cpu, cpu[1:], counts, counts[1:])]
            self.report.at_most(f"more {name}: CPU for each of them, the worse of two steps", max(steps), 1)
            self.report.peaks.append(max(t.peak for t in taken.values()))
        self.report.table("More of everything", ["count: CPU", "few", "more", "most"][:len(counts) + 1], rows)

    # The rest of --check, and what no clock shows.

    def rest(self) -> None:
        busy = guests.busy_guest(self.place("busy"))
        ready = guests.guest_with(self.place("ready"), self.made, "zstd", KERNELS, "hostonly", rescue=True)
        start = [self.tool, "--version"]
        quick = interleaved({"--version": start, "--check, 3 kernels, 40 files of configuration, tiny images": self.check(busy)},
                            3 * self.rounds)
        fix = interleaved({"--check, four zstd images": self.check(ready), "--fix, nothing to do": ready.command(self.tool, "--fix")},
                          self.rounds)
        self.report.table("Start-up, everything but images, and --fix with nothing to do", TOOK_HEADER[:4],
                          [row[:4] for taken in (quick, fix) for row in took_rows(taken, next(iter(taken)))])
        version, rest = quick.values()
        check, nothing = fix.values()
        self.report.at_most("start-up (--version), CPU", version.cpu * 1000, 10, " ms", 1)
        self.report.at_most("the rest of --check, CPU", rest.cpu * 1000, 50, " ms", 1)
        self.report.at_most("--fix with nothing to do, CPU to that of --check", nothing.cpu / check.cpu, 1.05)
        self.seen(ready)

    def seen(self, tree: Tree) -> None:
        seen = traced.watch(self.tool, tree, "--check")
        rows = [[image.name, str(seen.opens[image]), str(seen.reads[image]),
                 f"{seen.read[image] / image.stat().st_size:.2f}"] for image in tree.boot_images()]
        self.report.table("How often each image is read (strace)", ["", "opens", "reads", "bytes read to its size"], rows)
        self.report.holds("images are read once each", "every byte once", "as wanted" if seen.read_once(tree) else
                          "see the table below", seen.read_once(tree))
        self.report.holds("external commands of --check", "0", str(len(seen.commands)), not seen.commands)
        self.report.holds("files that --check makes", "0", str(len(seen.made)), not seen.made)

    def size(self) -> None:
        folder = self.place("size")
        stripped = folder / "nvme-preflight"
        subprocess.run(["strip", "-o", stripped, self.tool], check=True)
        self.report.at_most("stripped binary", stripped.stat().st_size / (1 << 20), SIZE_LIMIT, " MiB")
        # EL 9's rpm packs with zstd -19. What is installed beside the binary: the spec's list.
        installed = ("packaging/nvme-preflight.8", "packaging/completion", "packaging/kernel-install", "packaging/kickstart",
                     "packaging/ansible", "packaging/report-v1.schema.json", "README.md", "CHANGELOG.md", "LICENSE")
        subprocess.run(["sh", "-c", 'tar -cf "$1/package.tar" -C "$1" nvme-preflight -C "$2" $3 && zstd -19 -q "$1/package.tar"',
                        "sh", folder, Path(__file__).resolve().parents[2], " ".join(installed)], check=True)
        self.report.at_most("what the package holds, packed with zstd -19",
                            (folder / "package.tar.zst").stat().st_size / (1 << 20), SIZE_LIMIT, " MiB")

    # --fix against dracut.

    def fix(self) -> None:
        rows = []
        for count in (2, 4):
            name = f"--fix with {count} kernels: wall clock to that of {count} dracut runs in sequence"
            try:
                tree, kernels = fix_guest.make(self.place(f"fix-{count}"), count, print)
            except LabUnavailable as why:
                self.report.targets.append(Target(name, "<= 0.65x", str(why), None))
                continue
            fixed, built = self.fix_and_dracut(tree, kernels)
            rows += [[f"--fix, {count} kernels", *took_rows({"": fixed}, "")[0][1:4]],
                     [f"dracut, {count} times", *took_rows({"": built}, "")[0][1:4]]]
            if count == 4:      # the target is one of four kernels
                self.report.at_most(name, fixed.wall / built.wall, 0.65)
            shutil.rmtree(tree.top.parent)
        if rows:
            self.report.table("--fix beside dracut, in the boot lab's guest", TOOK_HEADER[:4], rows,
                              "dracut runs with the configuration that --fix has made, so both build the same images.")

    def fix_and_dracut(self, tree: Tree, kernels: list[str]) -> tuple[Took, Took]:
        fixed, built = [], []
        for _ in range(max(1, self.slow_rounds // 2)):
            fixed.append(once(tree.command(self.tool, "--fix")))
            built.append(once(fix_guest.dracut_in_sequence(tree, kernels)))
            for image in (tree.top / "boot").glob("bench-*"):
                image.unlink()
            once(tree.command(self.tool, "--undo"), codes=(0, 1))
        return median(fixed), median(built)


def first_line(command: str) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    return next((line for line in (done.stdout + done.stderr).splitlines() if line.strip()), "?").strip("* ")


def machine(tool: Path) -> list[str]:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown")
    release = next((line.split("=")[1].strip('"') for line in Path("/etc/os-release").read_text().splitlines()
                    if line.startswith("PRETTY_NAME")), "unknown")
    return [f"- {datetime.date.today()}; {os.cpu_count()} cores, {model}; {release}",
            f"- {first_line(f'{tool} --version')}; images of kernel {image_cache.machine_kernel()} by "
            f"{first_line('dracut --version') if shutil.which('dracut') else 'no dracut'}",
            f"- {'; '.join(first_line(command) for command in VERSIONS)}"]


def peak(reports: Iterable[Report]) -> Report:
    report = Report()
    if peaks := [peak for one in reports for peak in one.peaks]:
        report.at_most("peak memory of --check, the largest of all runs", max(peaks), 48, " MiB", 1)
    return report


def markdown(reports: dict[str, Report], about: list[str]) -> str:
    targets = [target for report in [*reports.values(), peak(reports.values())] for target in report.targets]
    rows = "\n".join(f"| {t.name} | {t.wanted} | {t.measured} | {t.verdict} |" for t in targets)
    met = sum(target.met is True for target in targets)
    lacking = [name for name in SECTIONS if name not in reports]
    about = [*about, *([f"- not measured with this tool: {', '.join(lacking)}"] if lacking else [])]
    sections = "\n".join(f"{table}\n({report.when})\n" for report in reports.values() for table in report.tables)
    return ("<!-- SPDX-License-Identifier: MIT -->\n# Measured\n\nWritten by tests/bench/bench.py; what it means is in "
            "README.md beside this file. Ratios are to the line of ours that has 1.00; peak memory is the largest process's, "
            "and the starter has 8 MiB, which is the least that can be told.\n\n"
            + "\n".join(about) + f"\n\n## Targets: {met} of {len(targets)} met\n\n"
            "| target | wanted | measured | |\n|---|---|---|---|\n" + rows + "\n\n" + sections)


SECTIONS: dict[str, Callable[[Bench], None]] = {
    **{name: functools.partial(Bench.packing, name=name) for name in PACKINGS},
    "sizes": Bench.sizes, "growth": Bench.growth, "rest": Bench.rest, "size": Bench.size, "fix": Bench.fix}


class Kept:
    """What was measured so far with this tool: a slow machine may take it section by section."""

    def __init__(self, cache: Path, tool: Path, tiny: bool) -> None:
        self.path = cache / f"measured-{'tiny-' if tiny else ''}{base.digest(tool.read_bytes())}.pickle"

    @property
    def reports(self) -> dict[str, Report]:
        return pickle.loads(self.path.read_bytes()) if self.path.exists() else {}

    def keep(self, name: str, report: Report) -> None:
        reports = {**self.reports, name: report}
        self.path.write_bytes(pickle.dumps({section: reports[section] for section in SECTIONS if section in reports}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=Path)
    parser.add_argument("--results", type=Path, help="write the tables there, as Markdown")
    parser.add_argument("--rounds", type=int, default=9, help="runs of the quick commands (9); a third as many of the slow")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS),
                        help="measure these; of the others the tables have what the cache keeps of the same tool")
    parser.add_argument("--tiny", action="store_true", help="small inputs, no dracut, no --fix: tests the benchmark itself")
    parser.add_argument("--cache", type=Path, default=image_cache.cache_dir(), help="where the images are kept")
    options = parser.parse_args()
    if missing := [name for name in TOOLS if shutil.which(name) is None]:
        return skip(f"not installed: {', '.join(missing)}")
    if not options.tiny and not (shutil.which("dracut") and image_cache.machine_kernel()):
        return skip("no dracut, or no kernel in /lib/modules")
    made = image_cache.images(options.cache, options.tiny)
    with tempfile.TemporaryDirectory(prefix=".guests-", dir=options.cache) as scratch:
        tool = Path(shutil.copy2(options.tool, Path(scratch) / "nvme-preflight"))  # it may be built anew meanwhile
        kept = Kept(options.cache, tool, options.tiny)
        for name in SECTIONS:
            if name not in options.only or (options.tiny and name == "fix"):
                continue
            bench = Bench(tool, Path(scratch), made, options.rounds, options.tiny)
            SECTIONS[name](bench)
            bench.report.when = (f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {options.rounds} rounds, "
                                 f"load {os.getloadavg()[0]:.1f}")
            kept.keep(name, bench.report)
        text = markdown(kept.reports, machine(tool))
    print(text.split("\n## ", 2)[1])
    if options.results:
        options.results.write_text(text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"could not be measured: {error}")
