#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel-install plugin, run by this machine's own kernel-install(8) on a guest laid over its root: silent for a
good image, loud on stderr and in the journal for one that would not boot, and never in a transaction's way.

usage: kernel_install.py --tool PATH
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from merged_root import TOP, MergedRoot, can_merge, scratch_folder
from tally import Tally, skip
from guest import K1, K2, MACHINE_ID, Guest, Image, write_lsblk

PLUGIN = TOP / "packaging/kernel-install/99-nvme-preflight.install"
# What EL's grub2 and dracut put there, as far as it matters: an entry, and the image under /boot.
GRUB = f"""#!/bin/sh
[ "$1" = add ] || exit 0
cp "$4" "/boot/vmlinuz-$2" && cp "/usr/share/new/$2.conf" "/boot/loader/entries/{MACHINE_ID}-$2.conf"
"""
DRACUT = """#!/bin/sh
[ "$1" = add ] || exit 0
cp "/usr/share/new/initramfs-$2.img" "/boot/initramfs-$2.img"
"""
ERROR_OF_DAEMON, WARNING_OF_DAEMON = "<27>", "<28>"


def guest_with_new_kernel(folder: Path, tool: Path, hostonly: bool) -> MergedRoot:
    """A guest that boots K1, and K2 as its packages bring it: modules and kernel, no image, no entry."""
    folder.mkdir()
    guest = Guest(folder / "guest")
    guest.add_kernel(K2, Image(K2, hostonly=hostonly))
    guest.finish()
    for old, new in ((f"boot/vmlinuz-{K2}", f"usr/lib/modules/{K2}/vmlinuz"),
                     (f"boot/loader/entries/{MACHINE_ID}-{K2}.conf", f"usr/share/new/{K2}.conf"),
                     (f"boot/initramfs-{K2}.img", f"usr/share/new/initramfs-{K2}.img")):
        guest.path(new).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(guest.path(old), guest.path(new))
    for name in ("50-depmod", "85-initrd", "90-loaderentry"):  # this machine's
        guest.link(f"etc/kernel/install.d/{name}.install", "/dev/null")
    guest.write("etc/kernel/install.d/20-grub.install", GRUB, 0o755)
    guest.write("etc/kernel/install.d/50-dracut.install", DRACUT, 0o755)
    guest.write(f"usr/lib/kernel/install.d/{PLUGIN.name}", PLUGIN.read_text(), 0o755)
    merged = MergedRoot(guest, folder)
    merged.install_tool(tool)
    return merged


def add(merged: MergedRoot, *options: str) -> subprocess.CompletedProcess:
    return merged.run("kernel-install", *options, "add", K2, f"/usr/lib/modules/{K2}/vmlinuz", trees="proc")


def good_image(tally: Tally, folder: Path, tool: Path) -> None:
    merged = guest_with_new_kernel(folder, tool, hostonly=False)
    done = add(merged)
    said = done.stdout + done.stderr
    tally.same("good image: exit code and words", (done.returncode, said), (0, ""))
    tally.same("good image: how the program was called", merged.calls(),
               [f"--check --kernel {K2} --quiet --color never"])
    tally.same("good image: the journal", merged.journal(), [])
    tally.holds("good image: it is there", merged.guest.path(f"boot/initramfs-{K2}.img").exists())
    said = add(merged, "--verbose").stdout
    tally.holds("good image, --verbose: a line", f"nvme-preflight: kernel {K2} would boot on NVMe" in said, said)


def host_only_image(tally: Tally, folder: Path, tool: Path) -> None:
    merged = guest_with_new_kernel(folder, tool, hostonly=True)
    done = add(merged)
    tally.same("host-only image: exit code", done.returncode, 0, done.stderr)
    tally.holds("host-only image: loud", f"WARNING: kernel {K2} WOULD NOT BOOT ON NVMe" in done.stderr, done.stderr)
    tally.holds("host-only image: why", "initramfs.driver" in done.stderr, done.stderr)
    journal = merged.journal()
    tally.holds("host-only image: the journal has it as an error",
                journal and journal[0].startswith(ERROR_OF_DAEMON) and "WOULD NOT BOOT" in journal[0], str(journal))
    tally.holds("host-only image: the journal has why", any("initramfs.driver" in line for line in journal),
                str(journal))
    # systemd 239 (EL 8) calls it with these arguments and without any variable.
    done = merged.run(f"/usr/lib/kernel/install.d/{PLUGIN.name}", "add", K2, f"/boot/{MACHINE_ID}/{K2}",
                      f"/lib/modules/{K2}/vmlinuz", trees="proc")
    tally.same("as systemd 239 calls it", (done.returncode, "WOULD NOT BOOT" in done.stderr), (0, True), done.stderr)
    merged.calls()
    done = merged.run("kernel-install", "remove", K2, trees="proc")
    tally.same("remove: nothing is asked, nothing said", (done.returncode, done.stderr, merged.calls()), (0, "", []))
    options_of_the_tool(tally, merged, tool)


def options_of_the_tool(tally: Tally, merged: MergedRoot, tool: Path) -> None:
    """The guest boots K1 and is ready; K2's image is not."""
    lsblk = write_lsblk(merged.guest, merged.folder / "lsblk.json")

    def code(*arguments: str) -> int:
        return subprocess.run([str(tool), "--root", str(merged.guest.top), "--lsblk", str(lsblk), *arguments],
                              capture_output=True, timeout=120).returncode

    tally.same("--check", code("--check"), 0)
    tally.same("--kernel of the default entry", code("--kernel", K1), 0)
    tally.same("--kernel of the new one", code("--check", "--kernel", K2), 1)
    tally.same("--kernel of none", code("--kernel", "6.0.0"), 3)
    tally.same("--kernel with --fix", code("--kernel", K2, "--fix"), 2)


def broken_tool(tally: Tally, folder: Path, tool: Path) -> None:
    merged = guest_with_new_kernel(folder, tool, hostonly=True)
    program = "usr/sbin/nvme-preflight"
    for what, script in (("that fails", "#!/bin/sh\nexit 70\n"), ("that dies", "#!/bin/sh\nkill -SEGV $$\n"),
                         ("that cannot be run", "#!/nonexistent\n")):
        merged.guest.write(program, script, 0o755)
        done = add(merged)
        tally.same(f"a program {what}", (done.returncode, "could not tell whether" in done.stderr), (0, True),
                   done.stderr)
        tally.holds(f"a program {what}: the journal", any(WARNING_OF_DAEMON in line for line in merged.journal()))
    merged.guest.write(program, "#!/bin/sh\nexec sleep 600\n", 0o755)
    # The same plugin with less patience.
    merged.guest.write(f"usr/lib/kernel/install.d/{PLUGIN.name}", PLUGIN.read_text().replace("limit=60 ", "limit=1 "),
                       0o755)
    done = add(merged)
    tally.same("a program that hangs", (done.returncode, "no answer within 1 seconds" in done.stderr), (0, True),
               done.stderr)
    merged.guest.remove(program)
    done = add(merged)
    tally.same("no program", (done.returncode, done.stderr), (0, ""))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=Path)
    tool = parser.parse_args().tool.resolve()
    if not shutil.which("kernel-install"):
        return skip("systemd's kernel-install is not here")
    if why := can_merge():
        return skip(f"no guest can be laid over this machine's root: {why}")
    tally = Tally()
    with scratch_folder() as scratch:
        good_image(tally, Path(scratch) / "good", tool)
        host_only_image(tally, Path(scratch) / "hostonly", tool)
        broken_tool(tally, Path(scratch) / "broken", tool)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
