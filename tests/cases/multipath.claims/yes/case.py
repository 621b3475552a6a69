# SPDX-License-Identifier: MIT
"""find_multipaths yes leaves single paths alone."""

EXPECT = {"multipath.claims": "pass"}
EXIT = 0


def build(guest):
    guest.write("etc/multipath.conf", "defaults {\n\tfind_multipaths yes\n}\n")
