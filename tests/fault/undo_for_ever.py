#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--undo at any later time: after a reboot, after the switch, after lvm2, GRUB, a package manager or
a person have changed files since, with a journal or a backup that is damaged.

Either the files are again what they were, or --undo says by name what keeps it from that, exits
with 4 and has changed nothing; --force then does what can be done and says what it could not.

usage: undo_for_ever.py --tool PATH [CASE..]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rig import K1, K2, MACHINE_ID, Failure, Guest, Image, Rig, Trials, picture, scratch_parent, skip, timeless

K3 = "5.14.0-570.el9.x86_64"
CASES: dict[str, Callable[[Rig], None]] = {}


def case(function: Callable[[Rig], None]) -> Callable[[Rig], None]:
    CASES[function.__name__.replace("_", "-")] = function
    return function


def only_differs(rig: Rig, *names: str) -> None:
    """All is as at the start, these files apart."""
    now = picture(rig.top)
    for name in sorted(rig.start.keys() | now.keys()):
        if rig.start.get(name) != now.get(name) and not any(name == n or name.startswith(n + "/") for n in names):
            raise Failure(f"/{name}: {rig.start.get(name)} is now {now.get(name)}")


def undo(rig: Rig, *options: str, code: int = 0, says: tuple[str, ...] = ()) -> str:
    before = picture(rig.top)
    done = rig.call("--undo", *options)
    said = " ".join((done.stdout + done.stderr).split())
    rig.expect_code(done, code)
    for words in says:
        if words not in said:
            raise Failure(f"--undo does not say {words!r}\n{done.stdout}{done.stderr}")
    if code == 4 and picture(rig.top) != before:
        raise Failure("exit 4, but something was changed")
    rig.expect_tidy(f"--undo, exit {code}")
    if code != 4:
        expect_not_blocked(rig)
    return said


def expect_not_blocked(rig: Rig) -> None:
    if rig.unfinished():
        raise Failure(f"unfinished: {rig.unfinished()}")
    done = rig.call("--fix", "--only", "guest.supported")
    rig.expect_code(done, 0)


def refused_then_forced(rig: Rig, name: str, why: str) -> None:
    """Refused by name, nothing changed; --force brings back the start and keeps what was there."""
    path = rig.top / name
    there = path.read_bytes() if path.exists() else None
    undo(rig, code=4, says=(f"/{name}: {why}", "--force", "Nothing was changed"))
    if rig.unfinished():
        raise Failure("a refused --undo left the run unfinished")
    undo(rig, "--force")
    rig.expect_start("--undo --force")
    kept = [p.read_bytes() for p in (rig.state / rig.runs()[0]).glob("before-undo-*")]
    if kept != ([there] if there is not None else []):
        raise Failure(f"what was there before --force is not kept: {kept}")


def journal(rig: Rig) -> Path:
    return rig.state / rig.runs()[-1] / "journal"


@case
def at_once(rig: Rig) -> None:
    undo(rig)
    rig.expect_start("--undo")
    undo(rig, says=("no run to put back",))
    undo(rig, rig.runs()[0], says=("already put back",))


@case
def after_a_reboot(rig: Rig) -> None:
    environment = rig.top / "boot/grub2/grubenv"
    environment.write_bytes(environment.read_bytes().rstrip(b"#") + b"boot_success=1\n")
    shutil.rmtree(rig.top / "run")
    (rig.top / "run/lvm").mkdir(parents=True)
    undo(rig)
    only_differs(rig, "boot/grub2/grubenv", "run")


@case
def after_the_switch(rig: Rig) -> None:
    rig.lsblk = rig.scratch / "nvme.json"
    text = (rig.scratch / "lsblk.json").read_text()
    rig.lsblk.write_text(re.sub(r"vda(\d)", r"nvme0n1p\1", text).replace("vda", "nvme0n1").replace("virtio", "nvme"))
    undo(rig, says=("NVMe now",))
    rig.expect_start("--undo")


@case
def after_lvm2_renamed_its_devices_file(rig: Rig) -> None:
    devices = rig.top / "etc/lvm/devices"
    (devices / "system.devices").rename(devices / "system.devices-unused.20261130.220000")
    (devices / "system.devices-unused.20200101.000000").write_text("IDTYPE=older\n")
    (devices / "system.devices-unused.20301231.000000").write_text("IDTYPE=younger\n")
    undo(rig)
    only_differs(rig, "etc/lvm/devices/system.devices-unused.20200101.000000",
                 "etc/lvm/devices/system.devices-unused.20301231.000000")


@case
def after_a_kernel_was_installed(rig: Rig) -> None:
    guest = object.__new__(Guest)
    guest.top, guest.kernels, guest.images = rig.top, [], {}
    guest.add_kernel(K3).write(rig.top / f"boot/initramfs-{K3}.img")
    undo(rig)
    only_differs(rig, f"usr/lib/modules/{K3}", f"boot/vmlinuz-{K3}", f"boot/initramfs-{K3}.img",
                 f"boot/loader/entries/{MACHINE_ID}-{K3}.conf")


@case
def after_a_kernel_was_removed(rig: Rig) -> None:
    gone = [f"boot/vmlinuz-{K2}", f"boot/initramfs-{K2}.img", f"boot/loader/entries/{MACHINE_ID}-{K2}.conf"]
    for name in gone:
        (rig.top / name).unlink()
    shutil.rmtree(rig.top / f"usr/lib/modules/{K2}")
    undo(rig, says=("went with its kernel",))
    only_differs(rig, *gone, f"usr/lib/modules/{K2}")


@case
def after_a_file_was_edited_by_hand(rig: Rig) -> None:
    with (rig.top / "etc/fstab").open("a") as fstab:
        fstab.write("tmpfs /scratch tmpfs nofail 0 0\n")
    refused_then_forced(rig, "etc/fstab", "has changed since")


@case
def after_an_image_was_rebuilt(rig: Rig) -> None:
    Image(K1).write(rig.top / f"boot/initramfs-{K1}.img")
    with (rig.top / f"boot/initramfs-{K1}.img").open("ab") as image:
        image.write(b"\0" * 512)
    refused_then_forced(rig, f"boot/initramfs-{K1}.img", "has changed since")


@case
def after_the_drop_in_was_edited(rig: Rig) -> None:
    (rig.top / "etc/dracut.conf.d/zz-nvme-preflight.conf").write_text('hostonly="no"\nadd_drivers+=" nvme "\n')
    refused_then_forced(rig, "etc/dracut.conf.d/zz-nvme-preflight.conf", "has changed since")


@case
def after_a_file_was_removed(rig: Rig) -> None:
    (rig.top / "etc/fstab").unlink()
    refused_then_forced(rig, "etc/fstab", "is gone")


@case
def after_a_removed_image_whose_kernel_is_there(rig: Rig) -> None:
    (rig.top / f"boot/initramfs-{K2}.img").unlink()
    refused_then_forced(rig, f"boot/initramfs-{K2}.img", "is gone")


@case
def after_the_drop_in_was_removed(rig: Rig) -> None:
    (rig.top / "etc/dracut.conf.d/zz-nvme-preflight.conf").unlink()
    undo(rig)
    rig.expect_start("--undo")


@case
def after_somebody_used_our_directory(rig: Rig) -> None:
    if "etc/dracut.conf.d" in rig.start:
        shutil.rmtree(rig.top / "etc/dracut.conf.d")
        (rig.top / "etc/dracut.conf.d").mkdir()
    (rig.top / "etc/dracut.conf.d/theirs.conf").write_text("x=1\n")
    undo(rig)
    only_differs(rig, "etc/dracut.conf.d/theirs.conf")


@case
def after_a_file_became_a_link(rig: Rig) -> None:
    (rig.top / "etc/fstab").rename(rig.top / "etc/fstab.real")
    (rig.top / "etc/fstab").symlink_to("fstab.real")
    undo(rig, code=4, says=("/etc/fstab: is reached through a symbolic link now",))
    undo(rig, "--force", code=6, says=("stay as they are", "/etc/fstab"))
    only_differs(rig, "etc/fstab", "etc/fstab.real")
    undo(rig, says=("no run to put back",))


@case
def after_a_mode_was_changed(rig: Rig) -> None:
    (rig.top / "etc/fstab").chmod(0o600)
    undo(rig)
    rig.expect_start("--undo")


@case
def of_an_older_run(rig: Rig) -> None:
    rig.reset("start")
    rig.expect_code(rig.call("--fix", "--only", "lvm.devicesfile"), 0)
    [first] = rig.runs()
    rig.expect_code(rig.call("--fix"), 0)
    undo(rig, first)
    now = picture(rig.top)
    if now["etc/lvm/lvm.conf"] != rig.start["etc/lvm/lvm.conf"]:
        raise Failure("the older run's file is not back")
    if timeless(now["etc/fstab"]) != timeless(rig.finished["etc/fstab"]):
        raise Failure("the younger run's file was touched")
    undo(rig)
    rig.expect_start("--undo of both")


@case
def of_an_older_run_that_shares_a_file(rig: Rig) -> None:
    rig.reset("start")
    rig.expect_code(rig.call("--fix", "--only", "fstab.device-names"), 0)
    [first] = rig.runs()
    once = (rig.top / "etc/fstab").read_text()
    (rig.top / "etc/fstab").write_text(once + "/dev/vda1 /boot/efi vfat defaults 0 2\n")
    rig.expect_code(rig.call("--fix", "--only", "fstab.device-names"), 0)
    [second] = [run for run in rig.runs() if run != first]
    undo(rig, first, code=4, says=(f"/etc/fstab: was changed by the later run {second}", f"--undo {second}"))
    undo(rig, second)
    undo(rig, first, code=4, says=("/etc/fstab: has changed since",))
    undo(rig, first, "--force")
    rig.expect_start("--undo --force of the older run")


@case
def with_a_damaged_journal(rig: Rig) -> None:
    lines = journal(rig).read_text().splitlines(keepends=True)
    journal(rig).write_text("".join(lines[:2] + ["{ spoilt\n"] + lines[3:]))
    run = rig.runs()[0]
    for options in ((), (run,), (run, "--force")):
        undo(rig, *options, code=4, says=(f"{run}/journal:3:", f"/var/lib/nvme-preflight/{run}"))
    rig.expect_code(rig.call("--fix"), 4)
    if "damaged" not in rig.call("--runs").stdout:
        raise Failure("--runs does not say that the journal is damaged")
    done = rig.call("--check")
    if f"{run}/journal:3:" not in done.stderr:
        raise Failure(f"--check does not name the damaged journal: {done.stderr!r}")
    shutil.move(rig.state / run, rig.top / "root")  # as the message says
    undo(rig, says=("no run to put back",))


@case
def with_a_torn_journal(rig: Rig) -> None:
    text = journal(rig).read_text()
    journal(rig).write_text(text[:-5])  # "committed" was being written when the power went
    undo(rig)
    rig.expect_start("--undo")


@case
def with_a_foreign_journal(rig: Rig) -> None:
    other = "20200101T000000Z-1"
    shutil.copytree(rig.state / rig.runs()[0], rig.state / other)
    undo(rig, other, code=4, says=("is the journal of another run",))
    shutil.rmtree(rig.state / other)
    journal(rig).write_text('{"event":"begin","schema":"somebody-elses/1"}\n')
    undo(rig, code=4, says=("damaged, or not a journal of this tool",))


@case
def with_a_journal_that_leads_elsewhere(rig: Rig) -> None:
    text = journal(rig).read_text()
    journal(rig).write_text(text.replace('"/etc/fstab"', '"/etc/../../../../etc/passwd"'))
    undo(rig, code=4, says=("damaged, or not a journal of this tool",))
    journal(rig).write_text(text.replace('"backup-1"', '"../../../etc/fstab"'))
    undo(rig, code=4, says=("damaged, or not a journal of this tool",))


@case
def without_a_journal(rig: Rig) -> None:
    journal(rig).unlink()
    undo(rig, code=4, says=("is missing or empty, but there are backups beside it",))


def backup_of(rig: Rig, name: str) -> Path:
    for line in journal(rig).read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "file" and event["path"] == f"/{name}":
            return journal(rig).parent / event["backup"]
    raise Failure(f"no backup of {name}")


def spoilt_backup(rig: Rig, spoil: Callable[[Path], object], why: str) -> None:
    spoil(backup_of(rig, "etc/fstab"))
    undo(rig, code=4, says=("backup of /etc/fstab", why))
    undo(rig, "--force", code=6, says=("stay as they are", "backup of /etc/fstab"))
    only_differs(rig, "etc/fstab")
    if timeless(picture(rig.top)["etc/fstab"]) != timeless(rig.finished["etc/fstab"]):
        raise Failure("the file without a backup was touched")
    undo(rig, says=("no run to put back",))


@case
def with_a_missing_backup(rig: Rig) -> None:
    spoilt_backup(rig, Path.unlink, "is gone")


@case
def with_a_damaged_backup(rig: Rig) -> None:
    spoilt_backup(rig, lambda path: path.write_bytes(b"spoilt" + path.read_bytes()[6:]), "is not what the journal says")


@case
def of_no_such_run(rig: Rig) -> None:
    for name in ("20200101T000000Z-1", "../../etc", "x"):
        undo(rig, name, code=4, says=("there is no run",))


@case
def of_an_interrupted_run_after_an_edit(rig: Rig) -> None:
    journal(rig).write_text("".join(journal(rig).read_text().splitlines(keepends=True)[:-1]))
    with (rig.top / "etc/fstab").open("a") as fstab:
        fstab.write("# by hand\n")
    done = rig.call("--fix")
    rig.expect_code(done, 4)
    if "/etc/fstab" not in done.stderr or "--force" not in done.stderr:
        raise Failure(f"--fix does not say what keeps it: {done.stderr!r}")
    done = rig.call("--undo")
    rig.expect_code(done, 4)
    undo(rig, "--force")
    rig.expect_start("--undo --force")


def kernelopts(guest: Guest) -> None:
    """EL 8: the entries say $kernelopts, which GRUB's environment block holds."""
    from guest import grubenv

    guest.write("usr/lib/os-release",
                'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"\n'
                'PRETTY_NAME="Rocky Linux 8.10 (Green Obsidian)"\n')
    for kernel in (K1, K2):
        guest.write_entry(kernel, "$kernelopts $tuned_params")
    guest.write("boot/grub2/grubenv", grubenv(
        saved_entry=f"{MACHINE_ID}-{K1}", boot_success="0",
        kernelopts=guest.options().replace(" ro ", " ro boot=/dev/vda2 ")))


def variables(rig: Rig) -> list[str]:
    text = (rig.top / "boot/grub2/grubenv").read_bytes()
    if len(text) != 1024:
        raise Failure(f"grubenv has {len(text)} bytes")
    return text.decode().rstrip("#").splitlines()


def after_grub_wrote_its_environment(rig: Rig) -> None:
    environment = rig.top / "boot/grub2/grubenv"
    start = (rig.scratch / "start/boot/grub2/grubenv").read_bytes().decode().rstrip("#").splitlines()
    text = environment.read_text().rstrip("#").replace("boot_success=0\n", "boot_success=1\n")
    text = text.replace(f"{MACHINE_ID}-{K1}", f"{MACHINE_ID}-{K2}") + "boot_indeterminate=0\n"
    environment.write_text(text.ljust(1024, "#"))
    undo(rig, says=("keeps what GRUB wrote",))
    only_differs(rig, "boot/grub2/grubenv")
    wanted = [line.replace("boot_success=0", "boot_success=1").replace(K1, K2) if not line.startswith("kernelopts")
              else line for line in start] + ["boot_indeterminate=0"]
    if variables(rig) != wanted:
        raise Failure(f"grubenv: {variables(rig)}, wanted {wanted}")


def after_kernelopts_was_edited(rig: Rig) -> None:
    environment = rig.top / "boot/grub2/grubenv"
    text = environment.read_text().rstrip("#").replace(" ro ", " ro quiet ")
    environment.write_text(text.ljust(1024, "#"))
    refused_then_forced(rig, "boot/grub2/grubenv", "has changed since")


CASES_EL8 = {"after-grub-wrote-its-environment": after_grub_wrote_its_environment,
             "after-kernelopts-was-edited": after_kernelopts_was_edited}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, type=lambda p: Path(p).resolve())
    parser.add_argument("case", nargs="*")
    options = parser.parse_args()
    if os.geteuid() != 0:
        return skip("must be root (the guest's dracut runs in a chroot)")
    trials = Trials("undo cases: {}")
    with tempfile.TemporaryDirectory(prefix="undo-", dir=scratch_parent()) as scratch:
        for cases, rig in ((CASES, Rig(options.tool, Path(scratch) / "el9")),
                           (CASES_EL8, Rig(options.tool, Path(scratch) / "el8", kernelopts))):
            for name, function in cases.items():
                if options.case and name not in options.case:
                    continue
                rig.reset("fixed")
                rig.lsblk = rig.scratch / "lsblk.json"
                with trials.one(name):
                    function(rig)
                    rig.expect_private()
    return trials.finish()


if __name__ == "__main__":
    sys.exit(main())
