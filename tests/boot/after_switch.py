#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A guest's life with NVMe: fixed by the kickstart's %post in a chroot, booted on NVMe for the first time, verified,
asked about new kernels by its own kernel-install, finished, booted again, and the finishing put back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lab import artefacts, cli
from lab.disk import Disk
from lab.guest import FACTS, Facts, step_of
from lab.rootfs import kernel_version
from lab.run import run
from lab.tree import install_tool
from lab.vm import Boot, Bus, Host, State, Step, boot

sys.path.insert(0, str(cli.REPO / "tests/support"))
from kickstart_post import LOG, post  # noqa: E402

PLUGIN = cli.REPO / "packaging/kernel-install/99-nvme-preflight.install"
BACKUPS = "/var/lib/nvme-preflight"

# The kernel package's scriptlet, as far as it matters here: the image is put in place, then the plugins after it run.
FIRST = FACTS + r"""
kernel=$(uname -r)
step verify nvme-preflight --verify --json
cd /etc/kernel/install.d
cp -p /boot/initramfs-$kernel.img /root/good.img
printf '#!/bin/sh\ncp "$(cat /run/lab/image)" /boot/initramfs-$2.img\n' >50-dracut.install; chmod 755 50-dracut.install
for image in installed good; do
  case $image in
    good) echo /root/good.img ;;
    *) find %(backups)s -name 'backup-*' -size +1024k | head -n 1 ;;
  esac >/run/lab/image
  step new-kernel-$image kernel-install add $kernel /boot/vmlinuz-$kernel
done
step journal journalctl -b -t nvme-preflight -p err -o cat
step plan nvme-preflight --finish --dry-run --diff
step finish nvme-preflight --finish --json
step again nvme-preflight --finish --json
step verify-finished nvme-preflight --verify --json
""" % {"backups": BACKUPS}

SECOND = FACTS + """
step setting lvmconfig --typeconfig full devices/use_devicesfile
step devices cat /etc/lvm/devices/system.devices
step verify nvme-preflight --verify --json
step undo nvme-preflight --undo --json
step setting-undone lvmconfig --typeconfig full devices/use_devicesfile
step verify-undone nvme-preflight --verify --json
"""


def said(step: Step) -> str:
    return (step.err or step.out)[-1500:]


def status_of(step: Step, check: str) -> str:
    """What --verify says of a check, and which fix it offers: "warn lvm-devices-again"."""
    report: dict[str, Any] = json.loads(step.out) if step.out.startswith("{") else {"findings": ()}
    return " ".join(f"{one['status']} {(one.get('remedy') or {}).get('fix') or ''}".strip()
                    for one in report["findings"] if one["check"] == check)


def kickstart(disk: Disk, tool: Path, lsblk: Path) -> tuple[int, str, str]:
    """%post in a chroot of the installed tree: exit code, kernel it went by, the end of its log."""
    with disk.mounted() as root:
        install_tool(root, tool)
        program, real = root / "usr/sbin/nvme-preflight", root / "usr/libexec/nvme-preflight"
        program.rename(real)    # told what the guest's disks are: those of the build machine are not the guest's
        (root / "usr/share/lsblk.json").write_bytes(lsblk.read_bytes())
        program.write_text('#!/bin/sh\nexec /usr/libexec/nvme-preflight --lsblk /usr/share/lsblk.json "$@"\n')
        program.chmod(0o755)
        (root / "post").write_text(post("fail") + "\n")
        shell = 'chroot "$1" env -i PATH=/usr/sbin:/usr/bin bash /post; echo "exit $?"'
        out = run(["unshare", "--mount", "--propagation", "private", "sh", "-c", shell, "sh", root], timeout=1800)
        for path in (program, root / "usr/share/lsblk.json", root / "post"):
            path.unlink()
        real.rename(program)
        log = (root / LOG).read_text()
        plugins = root / "etc/kernel/install.d"
        plugins.mkdir(parents=True, exist_ok=True)
        for other in (root / "usr/lib/kernel/install.d").iterdir():     # Debian's own
            (plugins / other.name).symlink_to("/dev/null")
        (plugins / "50-dracut.install").unlink(missing_ok=True)
        target = root / "usr/lib/kernel/install.d" / PLUGIN.name
        target.write_text(PLUGIN.read_text())
        target.chmod(0o755)
        return int(out.rsplit("exit ", 1)[1]), kernel_version(root), log


def first_boot(lab: cli.Lab, disk: Disk) -> None:
    row = lab.table.row
    done = boot(disk, Bus.NVME, FIRST, lab.logs / "1-first-nvme", finish=900)
    row(done.state is State.NORMAL and Facts.of(done).pvs == "/dev/nvme0n1p3 rl", "its first boot, on NVMe",
        f"{done.state.value} ({done.reason}), {Facts.of(done)}, {done.seconds:.0f} s")
    verify = step_of(done, "verify")
    offered = status_of(verify, "after.devices-file")
    row(verify.rc == 0 and offered == "warn lvm-devices-again", "--verify confirms, and offers --finish",
        f"exit {verify.rc}, after.devices-file: {offered}\n{said(verify) if verify.rc else ''}".strip())

    bad, good = step_of(done, "new-kernel-installed"), step_of(done, "new-kernel-good")
    row(bad.rc == 0 and "WOULD NOT BOOT ON NVMe" in bad.err, "kernel-install: a host-only image is named, nothing fails",
        f"exit {bad.rc}, {bad.err.splitlines()[:1]}")
    row(good.rc == 0 and good.err == "", "kernel-install: of a good image nothing is said", f"exit {good.rc}, {said(good)!r}")
    journal = step_of(done, "journal")
    row("WOULD NOT BOOT ON NVMe" in journal.out, "the journal has it as an error", repr(journal.out[:100]))

    plan = step_of(done, "plan")
    row("system.devices" in plan.out and "use_devicesfile = 1" in plan.out and "initramfs" not in plan.out,
        "--finish --dry-run --diff shows the two edits", f"exit {plan.rc}, {len(plan.out.splitlines())} lines")
    finish, again = step_of(done, "finish"), step_of(done, "again")
    fix = json.loads(finish.out).get("fix", {}) if finish.out else {}
    row(finish.rc == 0 and sorted(fix.get("changed", ())) == ["/etc/lvm/devices/system.devices", "/etc/lvm/lvm.conf"],
        "--finish", f"exit {finish.rc}, {finish.seconds} s, changed: {' '.join(fix.get('changed', ())) or said(finish)}")
    row(again.rc == 0 and '"nothing-to-do"' in again.out, "a second --finish changes nothing", f"exit {again.rc}")
    verify = step_of(done, "verify-finished")
    row(verify.rc == 0 and status_of(verify, "after.devices-file") == "skip", "--verify, finished", f"exit {verify.rc}")


def second_boot(lab: cli.Lab, disk: Disk) -> None:
    row = lab.table.row
    done = boot(disk, Bus.NVME, SECOND, lab.logs / "2-finished-nvme", snapshot=True, finish=900)
    row(done.state is State.NORMAL and Facts.of(done).pvs == "/dev/nvme0n1p3 rl", "finished, it boots on NVMe again",
        f"{done.state.value} ({done.reason}), {Facts.of(done)}, {done.seconds:.0f} s")
    devices = step_of(done, "devices").out
    row(step_of(done, "setting").out.strip() == "use_devicesfile=1" and devices.count("IDTYPE=") == 1,
        "LVM goes by a devices file with one entry", " ".join(line for line in devices.splitlines() if "IDTYPE" in line))
    row(step_of(done, "verify").rc == 0, "--verify, after that boot", f"exit {step_of(done, 'verify').rc}")
    undo = step_of(done, "undo")
    row(undo.rc == 0 and step_of(done, "setting-undone").out.strip() == "use_devicesfile=0", "--undo of the finishing",
        f"exit {undo.rc}, {step_of(done, 'setting-undone').out.strip()}{said(undo) if undo.rc else ''}")
    verify = step_of(done, "verify-undone")
    row(verify.rc == 0 and status_of(verify, "after.devices-file") == "warn lvm-devices-again",
        "--verify offers it again", f"exit {verify.rc}")


def prove(lab: cli.Lab) -> None:
    """After the switch: kickstart, --verify, kernel-install, --finish."""
    ground = artefacts.ground(lab.recipe, lab.base, "lvm", Host(), lab.logs / "base", lab.table.say)
    disk = ground.disk.clone(lab.work / "guest.raw")
    code, kernel, log = kickstart(disk, lab.tool, ground.lsblk)
    if not lab.table.row(code == 0 and kernel in log, "%post in a chroot of the installed tree", f"exit {code}"
                         + (f"\n{log[-1500:]}" if code else "")):
        return
    first_boot(lab, disk)
    second_boot(lab, disk)


if __name__ == "__main__":
    sys.exit(cli.main("after_switch", prove, needs_tool=True))
