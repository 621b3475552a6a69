# SPDX-License-Identifier: MIT
"""The same filter, dormant: the devices file is on, and its entry is one that LVM finds again by PVID."""
import re

from lab.tree import Tree

START = "generic"


def change(tree: Tree) -> None:
    tree.append("etc/lvm/lvmlocal.conf", '\ndevices {\n\tfilter = [ "a|^/dev/vda3$|", "r|.*|" ]\n}\n')
    file = tree.at("etc/lvm/devices/system.devices")
    text, count = re.subn("IDTYPE=sys_serial IDNAME=[^ ]*", "IDTYPE=devname IDNAME=/dev/vda3", file.read_text())
    assert count == 1
    file.write_text(re.sub(r"^# HASH=.*\n", "", text, flags=re.M))
