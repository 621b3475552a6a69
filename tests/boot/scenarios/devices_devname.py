# SPDX-License-Identifier: MIT
"""The devices file is on and names /dev/vda3, with its PVID."""
import re

from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    file = tree.at("etc/lvm/devices/system.devices")
    text, count = re.subn("IDTYPE=sys_serial IDNAME=[^ ]*", "IDTYPE=devname IDNAME=/dev/vda3", file.read_text())
    assert count == 1
    file.write_text(re.sub(r"^# HASH=.*\n", "", text, flags=re.M))
