# SPDX-License-Identifier: MIT
"""What a guest is made of: data only. A change here makes a new base guest."""

from __future__ import annotations

from dataclasses import dataclass

VG = "rl"

# The kernel's modules that no virtual machine of ours has hardware for. dracut under TCG pays for every module
# it looks at; EL's kernel-modules-core leaves most of these to kernel-modules-extra as well.
_UNUSED_MODULES = (
    "sound", "net/bluetooth", "net/mac80211", "net/wireless", "net/netfilter",
    *(f"drivers/{name}" for name in (
        "accel", "bluetooth", "comedi", "edac", "gpu", "hwmon", "iio", "infiniband", "isdn", "media", "mtd",
        "net/can", "net/ethernet", "net/wireless", "platform", "staging", "target", "usb/gadget", "video")),
)

_PACKAGES = (
    "linux-image-amd64", "dracut", "lvm2", "systemd-sysv", "udev", "kmod", "dbus",
    # the tool's run-time libraries
    "libblkid1", "libdevmapper1.02.1", "zlib1g", "liblzma5", "libzstd1", "libbz2-1.0", "liblz4-1",
    # what dracut and the lab's scripts call
    "zstd", "xz-utils", "attr",
)


@dataclass(frozen=True)
class Volume:
    """A file system or swap of the guest; fixed UUIDs keep two builds comparable."""

    name: str
    mib: int
    uuid: str


@dataclass(frozen=True)
class Recipe:
    name: str           # of the cached base
    suite: str          # the Debian release underneath
    packages: tuple[str, ...]
    unused_modules: tuple[str, ...]
    version: str        # the EL version it is dressed as
    codename: str
    machine_id: str
    boot: Volume
    lvs: tuple[Volume, ...]
    pv_mib: int
    uuid_specs: bool    # fstab and resume= say UUID= (EL10) or /dev/mapper/... (EL9)

    @property
    def major(self) -> str:
        return self.version.split(".")[0]

    def lv(self, name: str) -> Volume:
        return next(lv for lv in self.lvs if lv.name == name)

    def spec(self, lv: Volume) -> str:
        """How this EL names an LV in fstab and in resume=."""
        return f"UUID={lv.uuid}" if self.uuid_specs else f"/dev/mapper/{VG}-{lv.name}"


def _guest(name: str, suite: str, version: str, codename: str, digit: str, uuid_specs: bool) -> Recipe:
    def uuid(number: int) -> str:
        return f"{digit * 8}-0000-4000-8000-{number:012d}"

    return Recipe(
        name=name, suite=suite, packages=_PACKAGES, unused_modules=_UNUSED_MODULES, version=version,
        codename=codename, machine_id=digit * 32, boot=Volume("boot", 1024, uuid(1)),
        lvs=(Volume("home", 128, uuid(2)), Volume("root", 2048, uuid(3)), Volume("swap", 256, uuid(4))),
        pv_mib=3072, uuid_specs=uuid_specs)


EL10 = _guest("el10", "trixie", "10.0", "Red Quartz", "a", uuid_specs=True)
EL9 = _guest("el9", "bookworm", "9.1", "Blue Onyx", "9", uuid_specs=False)

RECIPES = {recipe.name: recipe for recipe in (EL10, EL9)}
