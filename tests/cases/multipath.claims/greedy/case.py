# SPDX-License-Identifier: MIT
"""find_multipaths greedy takes the root disk."""

EXPECT = {"multipath.claims": "warn"}
EXIT = 0


def build(guest):
    guest.write("etc/multipath.conf", "defaults {\n\tuser_friendly_names yes\n\tfind_multipaths greedy\n}\n")
