# SPDX-License-Identifier: MIT
"""A } in a string and a multi-line array do not end the section; the fix stays inside it."""

EXPECT = {"lvm.devicesfile": "fail", "lvm.config": "pass"}
EXIT = 1
FIX_EXIT = 0


def build(guest):
    guest.write("etc/lvm/lvm.conf",
                'devices {\n\tpreferred_names = [\n\t\t"^/dev/odd}name",\n\t\t"^/dev/mapper/"\n\t]\n'
                '\tuse_devicesfile = 1\n}\nlog { prefix = "}" }\n')
    guest.devices_file()
