# SPDX-License-Identifier: MIT
"""rd.lvm.conf=0 drops the image's lvm.conf, and the filter with it."""

EXPECT = {"initramfs.lvm-config": "pass"}
EXIT = 0


def build(guest):
    from guest import K1

    guest.write_entry(K1, guest.options() + " rd.lvm.conf=0")
    guest.image().put("etc/lvm/lvm.conf",
                      'devices {\n\tfilter = [ "a|^/dev/vda3$|", "r|.*|" ]\n}\n')
