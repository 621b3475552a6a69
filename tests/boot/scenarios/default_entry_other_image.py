# SPDX-License-Identifier: MIT
"""The default is a second entry, whose image is the host-only one; the running kernel's has a generic image."""
from lab.tree import Tree

START = "installed"


def change(tree: Tree) -> None:
    tree.write("etc/dracut.conf.d/99-generic.conf", 'hostonly="no"\n')
    tree.use_devicesfile("0")
    machine = tree.recipe.machine_id
    (tree.root / "boot/initramfs-other.img").write_bytes(tree.image.read_bytes())
    tree.use_generic_image()
    text = tree.entry.read_text().replace(f"/{tree.image.name}", "/initramfs-other.img")
    tree.write(f"boot/loader/entries/{machine}-other.conf", text)
    tree.replace("boot/grub2/grubenv", f"saved_entry={machine}-{tree.kernel}\n", f"saved_entry={machine}-other\n")
