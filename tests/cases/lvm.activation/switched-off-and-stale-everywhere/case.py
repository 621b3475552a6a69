# SPDX-License-Identifier: MIT
"""EL 8: kernelopts, /etc/default/grub and /etc/kernel/cmdline have the same faults as the entry, and are mended with it."""

EXPECT = {"lvm.activation": ["fail", "warn"]}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import K1, MACHINE_ID, grubenv

    guest.become_el8()
    faulty = "ro  rd.lvm=0 rd.lvm.lv=old/root rd.lvm.lv=rl/swap quiet"
    guest.write_entry(K1, "$kernelopts")
    guest.write("boot/grub2/grubenv", grubenv(
        saved_entry=f"{MACHINE_ID}-{K1}", kernelopts=f"root=/dev/mapper/rl-root {faulty} "))
    guest.write("etc/kernel/cmdline", f"root=/dev/mapper/rl-root {faulty}\n")
    guest.write("etc/default/grub", f'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX="{faulty}"\n')
