# SPDX-License-Identifier: MIT
"""A udev rule, a unit and device.map name the old disk; escapes in them do not reach the terminal."""

EXPECT = {"names.elsewhere": ["warn", "warn", "warn"]}
EXIT = 0


def build(guest):
    guest.write("etc/udev/rules.d/60-io.rules", '# vda\nKERNEL=="vd*", ATTR{queue/scheduler}="none"\n')
    guest.write("etc/systemd/system/data.mount", "[Mount]\nWhat=/dev/vdb1\x1b[2J\nWhere=/data\n")
    guest.write("boot/grub2/device.map", "(hd0) /dev/vda\n")
