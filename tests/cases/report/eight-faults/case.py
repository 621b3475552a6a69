# SPDX-License-Identifier: MIT
"""Eight faults: the report fits on one screen and names file and line of each."""

EXPECT = {"initramfs.driver": "fail", "dracut.hostonly": "fail", "lvm.devicesfile": "fail",
          "lvm.activation": "fail", "boot.device-names": "fail", "fstab.device-names": ["fail", "fail"],
          "crypttab.device-names": "fail"}
EXIT = 1
SCREENS = ["check"]


def build(guest):
    from guest import K1, SWAP_UUID, Image, node

    guest.images[K1] = Image(K1, hostonly=True)
    guest.remove("etc/dracut.conf.d/zz-nvme.conf")
    guest.edit("etc/lvm/lvm.conf", "\tuse_devicesfile = 0", "\tuse_devicesfile = 1")
    guest.devices_file()
    disk = guest.lsblk["blockdevices"][0]
    disk["children"].append(node("vda4", "part", fstype="swap", uuid=SWAP_UUID.replace("3", "8")))
    disk["children"].append(node("vda5", "part", fstype="crypto_LUKS", uuid="55555555-5555"))
    guest.write_entry(K1, "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/swap resume=/dev/vda4")
    guest.write("etc/fstab", "/dev/mapper/rl-root / xfs defaults 0 0\n/dev/vda2 /boot xfs defaults 0 0\n"
                "/dev/vda4 none swap defaults 0 0\n")
    guest.write("etc/crypttab", "data /dev/vda5 none luks\n")
