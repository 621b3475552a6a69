# SPDX-License-Identifier: MIT
"""An LV that is not active but in LVM's metadata backup is there: dracut activates it."""

EXPECT = {"lvm.activation": "warn"}
EXIT = 0


def build(guest):
    from guest import K1

    guest.write("etc/lvm/backup/rl", 'contents = "Text Format Volume Group"\nversion = 1\n'
                "rl {\n\tid = \"x\"\n\tlogical_volumes {\n\t\troot {\n\t\t}\n\t\tspare {\n\t\t}\n\t}\n}\n")
    guest.write_entry(K1, guest.options() + " rd.lvm.lv=rl/spare")
