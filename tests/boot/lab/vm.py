# SPDX-License-Identifier: MIT
"""One boot of a guest under QEMU: start, watch both serial ports, always end it."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from . import loader
from .disk import Disk
from .run import LabError

# vm-bhyve keeps the UUID when the controller changes; LVM's refresh of the devices file looks at it.
_VM_UUID = "6d3e4c7a-1f52-4f0e-9a53-2b1f6f0c8e11"

# What the lab adds to the entry's own command line: how long to wait, never what to find.
# Shorter where the wait ends in the same failure: dracut gives up on root after 20 rounds of its queue instead of 360
# (rd.retry counts two a second, and a round that looks for LVs takes seconds here; it counts only rounds in which udev
# has nothing left to do) and powers off instead of asking for a shell. Longer where a busy build machine would turn a
# slow boot into a failed one: under TCG beside a compiler, /home has been seen to take more than 45 of systemd's 90 s,
# and the kernel's early test of its timer to see no tick at all (it panics then).
EXTRA = ("console=ttyS0,115200 loglevel=4 no_timer_check systemd.show_status=1 rd.retry=10 rd.shell=0 "
         "rd.emergency=poweroff systemd.default_device_timeout_sec=150 systemd.default_timeout_start_sec=300")
# erms/fsrm off: TCG runs "rep stosb" byte by byte, and a kernel that sees them clears its pages that way. svm off: nested
# virtualisation only loads the kvm modules. Without an explicit xlevel QEMU drops the leaf with the address sizes along
# with svm's, and the kernel then cannot reach the disk's BAR.
_CPU = "max,erms=off,fsrm=off,svm=off,xlevel=0x80000008"

# dracut's last word where root never came. A test that wants a guest not to boot wants it to end here.
NO_ROOT = "Boot has failed"

# The ends of a boot that never reaches the real root. Emergency mode of the real root is the agent's to report.
_FAILED = re.compile(NO_ROOT + r"|Kernel panic|dracut: FATAL|Unable to mount root fs|Generating \"/run/initramfs/")
# A device that systemd waits for without limit (resume=) never fails; after minutes of the guest's own clock it counts
# as a hang, so that nobody has to sit out the bound. Nothing that boots waits so long for one job.
_ENDLESS = re.compile(r"(?:A start job is running for|Job) (?!dracut)[^\r\n]*\((?:[4-9]|\d\d+)min [^\r\n/]*/ no limit\)")


# Starved by its host, a guest can fail where it would boot; its kernel then says so. Nothing on a disk makes an interrupt
# fail fatally; under TCG it has been seen once, two seconds after the start.
_STARVED = re.compile(r"rcu: INFO: .* detected (?:expedited )?stalls|watchdog: BUG: soft lockup|"
                      r"blocked for more than \d+ seconds|not syncing: Fatal exception in interrupt")
_TRIES = 3

# More than a guest writes while a test looks on.
_LOG_SIZE = 16 << 30

# blklogwrites lays its header before a request's buffers; behind merged requests, which may have IOV_MAX of them, that is
# one too many, and the guest sees an I/O error (QEMU 7.2).
_UNMERGED = ",request-merging=off"

# The firmware found nothing to start, and said so on the serial port.
_NO_LOADER = re.compile(r"BdsDxe: No bootable option|UEFI Interactive Shell|Start PXE over|Start HTTP Boot")
_OVMF = Path("/usr/share/OVMF")


class Bus(Enum):
    VIRTIO = "virtio"
    NVME = "nvme"


@dataclass(frozen=True)
class Host:
    """What the hypervisor gives the guest. The switch itself changes none of this but the serial."""

    virtio_serial: str = "BHYVE-1234"
    nvme_serial: str = "NVME-4-0"
    virtio_sector: int = 512
    nvme_sector: int = 512
    firmware: bool = False      # OVMF instead of the lab's loader; its NVRAM is new at each boot, as bhyve's is

    def device(self, bus: Bus) -> str:
        driver, serial, sector = (("virtio-blk-pci", self.virtio_serial, self.virtio_sector) if bus is Bus.VIRTIO
                                  else ("nvme", self.nvme_serial, self.nvme_sector))
        sizes = f",logical_block_size={sector},physical_block_size={sector}" if sector != 512 else ""
        return f"{driver},drive=d0,serial={serial}{sizes}" + (",bootindex=0" if self.firmware else "")


@dataclass(frozen=True)
class PowerCut:
    """Every write is logged (write_log.py), and QEMU gets a SIGKILL once that step has ended."""

    log: Path
    after: str


class State(Enum):
    NORMAL = "normal"           # default target reached
    EMERGENCY = "emergency"     # real root, but emergency mode
    NO_BOOT = "no boot"         # stopped in the initramfs or before
    HANG = "hang"               # nothing reached within the bound
    LOST = "lost"               # reached, but the script did not finish


@dataclass(frozen=True)
class Step:
    rc: int
    seconds: int
    out: str
    err: str


@dataclass(frozen=True)
class Boot:
    state: State
    reason: str                 # the console line or bound that decided
    seconds: float
    entry: str
    console: Path
    steps: Mapping[str, Step] = field(default_factory=dict)


def _unpack(lines: list[str]) -> str:
    try:
        return gzip.decompress(base64.b64decode("".join(lines))).decode(errors="replace")
    except (binascii.Error, OSError, EOFError) as bad:
        raise LabError(f"the agent's answer is damaged: {bad}") from bad


def _read_answer(text: str) -> tuple[str | None, dict[str, Step], bool]:
    """State, finished steps, and whether the script came to its end."""
    hello = re.search(r"^@@hello (\S+)\s*$", text, re.M)
    steps: dict[str, Step] = {}
    for name, rc, seconds, body in re.findall(r"^@@step (\S+) (\d+) (\d+)\s*\n(.*?)^@@end\s*$", text, re.M | re.S):
        out, _, err = body.partition("@@stderr")
        steps[name] = Step(int(rc), int(seconds), _unpack(out.split()), _unpack(err.split()))
    return (hello[1] if hello else None), steps, "\n@@bye " in text


def boot(
    disk: Disk,
    bus: Bus,
    script: str,
    logs: Path,
    *,
    entry: str | None = None,
    snapshot: bool = False,
    cpus: int = 2,
    reach: float = 600,
    finish: float = 180,
    host: Host = Host(),
    cut: PowerCut | None = None,
    device_wait: int = 150,
) -> Boot:
    """Boot, run the script in the guest, power off (or cut the power).

    snapshot: nothing is written to the image (several such boots can share one). Only such a boot is tried again where
    it failed on a starved machine: the others may have changed the disk.
    reach/finish: bounds in seconds for reaching a target, and for the script from then on.
    device_wait: how long systemd in the guest waits for a device.
    """
    for left in reversed(range(_TRIES if snapshot else 1)):
        done = _boot_once(disk, bus, script, logs, entry, snapshot, cpus, reach, finish, host, cut, device_wait)
        if done.state is State.NORMAL or not left or not _STARVED.search(done.console.read_text(errors="replace")):
            break
    return done


def _start_with(disk: Disk, logs: Path, entry: str | None, host: Host,
                device_wait: int) -> tuple[str, list[str], list[Path]]:
    """The entry's name where the lab chooses it, QEMU's arguments, and the files to remove afterwards."""
    if host.firmware:
        nvram = logs / "nvram.fd"
        nvram.write_bytes((_OVMF / "OVMF_VARS.fd").read_bytes())
        return "the firmware's choice", [
            "-drive", f"if=pflash,format=raw,readonly=on,file={_OVMF / 'OVMF_CODE.fd'}",
            "-drive", f"if=pflash,format=raw,file={nvram}"], [nvram]
    loaded = loader.load(disk, logs, entry)
    wait = f"systemd.default_device_timeout_sec={device_wait}"
    argv = ["-kernel", str(loaded.kernel), "-append", f"{loaded.options} {EXTRA} {wait}"]
    if loaded.initrd is not None:
        argv += ["-initrd", str(loaded.initrd)]
    return loaded.entry, argv, [path for path in (loaded.kernel, loaded.initrd) if path is not None]


def _drive(disk: Disk, snapshot: bool, cut: PowerCut | None) -> list[str]:
    if cut is None:
        return ["-drive", f"if=none,id=d0,format=raw,cache=unsafe,file={disk.image}" + (",snapshot=on" if snapshot else "")]
    with cut.log.open("wb") as log:
        log.truncate(_LOG_SIZE)     # sparse
    # The flushes are logged; that the host carries them out as well would only cost time.
    files = "".join(f",{child}.driver=file,{child}.cache.no-flush=on,{child}.filename={path}"
                    for child, path in (("file", disk.image), ("log", cut.log)))
    return ["-blockdev", f"driver=blklogwrites,node-name=d0{files}"]


def _boot_once(disk: Disk, bus: Bus, script: str, logs: Path, entry: str | None, snapshot: bool, cpus: int,
               reach: float, finish: float, host: Host, cut: PowerCut | None, device_wait: int) -> Boot:
    logs.mkdir(parents=True, exist_ok=True)
    console, answer, script_file = logs / "console.log", logs / "agent.log", logs / "script.sh"
    script_file.write_text(script)
    for log in (console, answer):
        log.write_bytes(b"")
    name, start_argv, copies = _start_with(disk, logs, entry, host, device_wait)
    argv = ["setpriv", "--pdeathsig", "KILL",      # if this process is killed, the guest goes too
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", "q35,sata=off",     # the older "pc" has a floppy controller, whose probing takes seconds
            # not KVM: an unmodified distribution kernel hangs under this machine's /dev/kvm
            "-accel", "tcg,thread=multi", "-cpu", _CPU, "-smp", str(cpus), "-m", "2048", "-uuid", _VM_UUID,
            *start_argv, *_drive(disk, snapshot, cut), "-device", host.device(bus) + (_UNMERGED if cut else ""),
            "-fw_cfg", f"name=opt/org.nvme-preflight/script,file={script_file}",
            "-serial", f"file:{console}", "-serial", f"file:{answer}"]
    start = time.monotonic()
    with (logs / "qemu.log").open("wb") as errors:
        qemu = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        try:
            state, reason = _watch(qemu, console, answer, start, reach, finish, snapshot, cut)
        finally:
            _end(qemu)
            for copy in copies:     # 50 MB per boot, and still on the disk
                copy.unlink(missing_ok=True)
    steps = _read_answer(answer.read_text(errors="replace"))[1]
    return Boot(state, reason, time.monotonic() - start, name, console, steps)


def _watch(qemu: subprocess.Popen[bytes], console: Path, answer: Path, start: float,
           reach: float, finish: float, snapshot: bool, cut: PowerCut | None) -> tuple[State, str]:
    reached: float | None = None
    while True:
        running = qemu.poll() is None       # before the logs are read: what it wrote last is then in them
        hello, steps, done = _read_answer(answer.read_text(errors="replace"))
        if hello is not None and cut is not None and cut.after in steps:
            qemu.kill()
            qemu.wait()
            return State(hello), f"killed after step {cut.after}"
        now = time.monotonic()
        if hello is not None and reached is None:
            reached = now
        if hello is not None and done:
            if running and not snapshot:    # services stop and file systems unmount as they would on a real guest
                try:
                    qemu.wait(180)
                except subprocess.TimeoutExpired:
                    return State.LOST, "power-off took longer than 180 s"
            return State(hello), f"agent reached {hello}"
        if hello is None:
            log = console.read_text(errors="replace")
            endless = _ENDLESS.search(log)
            if endless:
                return State.HANG, endless[0]
            failed = _FAILED.search(log) or _NO_LOADER.search(log)
            if failed:
                time.sleep(1)               # the lines that say why follow at once
                return State.NO_BOOT, failed[0]
        if not running:
            if hello is None:
                return State.NO_BOOT, f"QEMU ended (exit {qemu.returncode}) before a target was reached"
            return State.LOST, f"QEMU ended (exit {qemu.returncode}) before the script did"
        if reached is None and now - start > reach:
            return State.HANG, f"no target within {reach:.0f} s"
        if reached is not None and now - reached > finish:
            return State.LOST, f"script not finished within {finish:.0f} s"
        time.sleep(0.25)


def _end(qemu: subprocess.Popen[bytes]) -> None:
    if qemu.poll() is None:
        qemu.terminate()
        try:
            qemu.wait(5)
        except subprocess.TimeoutExpired:
            qemu.kill()
            qemu.wait()
