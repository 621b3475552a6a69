# SPDX-License-Identifier: MIT
"""EL 8: the entries say $kernelopts, which grubenv holds; it keeps its 1024 bytes."""

EXPECT = {"boot.device-names": "fail"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    from guest import K1, MACHINE_ID, grubenv, node

    guest.become_el8()
    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda4", "part", fstype="swap", uuid="88888888-8888"))
    guest.write_entry(K1, "$kernelopts $tuned_params")
    guest.write("boot/grub2/grubenv", grubenv(
        saved_entry=f"{MACHINE_ID}-{K1}",
        kernelopts="root=/dev/mapper/rl-root ro resume=/dev/vda4 rd.lvm.lv=rl/root "))
