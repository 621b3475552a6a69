# SPDX-License-Identifier: MIT
"""The boot lab: real boots of EL-like guests under QEMU, see ../README.md."""
