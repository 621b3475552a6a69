# SPDX-License-Identifier: MIT
"""The devices file is on and names the serial; the host gives the NVMe disk the same one."""
from lab.tree import Tree
from lab.vm import Host

START = "generic"
HOST = Host(nvme_serial="BHYVE-1234")


def change(tree: Tree) -> None:
    pass
