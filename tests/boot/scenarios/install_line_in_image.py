# SPDX-License-Identifier: MIT
"""install nvme_core /bin/true in the guest's /etc/modprobe.d and in the image."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    tree.write("etc/modprobe.d/hardening.conf", "install nvme_core /bin/true\n")
    tree.add_to_image("etc/modprobe.d/hardening.conf", "install nvme_core /bin/true\n")
