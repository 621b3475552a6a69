// SPDX-License-Identifier: MIT
#include "checks/explanations.h"

#include <array>

namespace preflight {

namespace {

constexpr std::array explanations{
    Explanation{
        "guest.supported", "This is an EL 8, 9 or 10 guest that boots the way this tool rehearses.",
        "On another system (another distribution, ostree, a unified kernel image) the way from the "
        "boot loader to the root file system differs, and a rehearsal of the wrong way proves "
        "nothing.",
        "os-release, the boot loader entries, and whether the tool may look (root).",
        "Run it as root, in the guest that is to be switched.", "", "0.1.0"},
    Explanation{"firmware.loader",
                "The firmware finds a boot loader on the NVMe disk without an NVRAM entry.",
                "bhyve keeps no NVRAM by default: only EFI/BOOT/BOOT*.EFI on the EFI system "
                "partition is tried "
                "then. A BIOS or a loader on the host cannot be examined from inside.",
                "The files of the EFI system partition at /boot/efi.",
                "dnf reinstall shim-x64 (puts EFI/BOOT/BOOTX64.EFI back).", "", "0.1.0"},
    Explanation{
        "disk.sector-size", "The root disk's logical sector size must stay what it is.",
        "The partition table counts in logical sectors: seen with another size, the disk has no "
        "partitions.",
        "The disk's logical block size (sysfs, or lsblk's LOG-SEC).",
        "Keep the size on the host: bhyve's sectsz= or sectorsize=.", "", "0.1.0"},
    Explanation{"boot.default-entry",
                "The entry that boots by default has its kernel and its initrd.",
                "GRUB stops at an entry whose files are missing.",
                "The entries in /boot/loader/entries in GRUB's own order, grubenv's saved_entry "
                "and next_entry, "
                "and the files they name.",
                "grubby --set-default=/boot/vmlinuz-VERSION, or kernel-install add VERSION "
                "/lib/modules/VERSION/vmlinuz.",
                "", "0.1.0"},
    Explanation{"initramfs.readable", "The image is whole, and more than microcode.",
                "The kernel unpacks what it can and then finds no init, or not the drivers.",
                "The whole image is unpacked in memory, segment by segment, as the kernel does.",
                "dracut -f /boot/initramfs-VERSION.img VERSION", "Builds the image anew.", "0.1.0"},
    Explanation{
        "initramfs.driver",
        "The image holds the nvme driver for exactly the entry's kernel, every module it needs, "
        "kmod's indexes and the alias that udev finds it by; or nvme is built into that kernel.",
        "Without it the kernel never sees the disk: \"Boot has failed\", or an emergency shell.",
        "modules.dep, modules.alias and the module files inside the image; modules.builtin of that "
        "kernel. The word nvme elsewhere in the image counts for nothing.",
        "Set hostonly=\"no\" in a file of /etc/dracut.conf.d that sorts last, then dracut -f "
        "/boot/initramfs-VERSION.img VERSION for every kernel.",
        "Makes dracut build generic images and builds the image anew.", "0.1.0"},
    Explanation{
        "initramfs.blocked",
        "Nothing keeps udev in the image from loading nvme: no blacklist or install line, no "
        "modprobe.blacklist=, rd.driver.blacklist=, module_blacklist= or initcall_blacklist=.",
        "The driver is there and is not loaded: the disk never appears.",
        "The image's modprobe.d in kmod's order, its cmdline.d, and each entry's command line.",
        "Remove the line it names (and rebuild the image), or grubby --remove-args.", "", "0.1.0"},
    Explanation{
        "initramfs.device-names", "The image does not wait for a disk by its old name.",
        "dracut waits for every such device and gives up: the boot ends in an emergency shell.",
        "Hooks, unit links and command-line files inside the image.",
        "dracut -f /boot/initramfs-VERSION.img VERSION after hostonly=\"no\".",
        "Builds the image anew.", "0.1.0"},
    Explanation{
        "initramfs.lvm-config",
        "The LVM configuration frozen in the image accepts the PV under its NVMe name.",
        "A filter that only knows vda hides the PV in the initramfs, where no devices file "
        "switches it "
        "off: root's LV is never activated.",
        "lvm.conf and lvmlocal.conf inside the image, matched by LVM's own matcher.",
        "Mend the filter in /etc/lvm/lvm.conf, then dracut -f /boot/initramfs-VERSION.img VERSION.",
        "Builds the image anew.", "0.1.0"},
    Explanation{"initramfs.way-back", "The image still holds virtio_blk.",
                "Without it the host could not switch the disk back.",
                "The same as initramfs.driver, for virtio_blk.",
                "dracut -f /boot/initramfs-VERSION.img VERSION after hostonly=\"no\".",
                "Builds the image anew.", "0.1.0"},
    Explanation{
        "dracut.hostonly", "dracut makes images for any hardware, or forces nvme into them.",
        "A host-only image holds the drivers of the hardware it was built on: virtio, not NVMe. "
        "The "
        "next kernel update would undo today's repair.",
        "dracut.conf and all drop-ins in dracut's own order; the last assignment counts, and "
        "/etc/dracut.conf is read first.",
        "echo 'hostonly=\"no\"' > /etc/dracut.conf.d/zz-nvme.conf",
        "Writes /etc/dracut.conf.d/zz-nvme-preflight.conf.", "0.1.0"},
    Explanation{
        "dracut.next-kernel",
        "The next kernel's image will hold nvme: nothing omits it, no words of add_drivers have "
        "fused, "
        "no ready-made initrd replaces dracut's.",
        "The guest would boot until the next kernel update, and not after it.",
        "The same configuration, word by word; the newest kernel's module directory.",
        "Write blanks inside the quotes: add_drivers+=\" nvme \"; remove nvme from omit_drivers.",
        "Writes /etc/dracut.conf.d/zz-nvme-preflight.conf.", "0.1.0"},
    Explanation{"lvm.config", "lvm.conf and lvmlocal.conf parse.",
                "Every lvm command fails when they do not: no LV but root is activated.",
                "LVM's own parser (libdevmapper).", "lvmconfig --validate names the line.", "",
                "0.1.0"},
    Explanation{
        "lvm.devicesfile",
        "LVM's devices file is off (use_devicesfile = 0), absent, or its entries find the PV on "
        "NVMe.",
        "LVM uses only devices that the file lists. A virtio disk is listed by its serial, which "
        "the "
        "NVMe disk has not: LVs other than root's never appear, and the boot ends in emergency "
        "mode.",
        "The merged LVM configuration by LVM's own parser, the build's default, the entries of "
        "system.devices, lvm2's version. A comment sets nothing.",
        "Set use_devicesfile = 0 in the devices section of /etc/lvm/lvm.conf.",
        "Edits that one value in the file that decides.", "0.1.0"},
    Explanation{"lvm.filter", "No filter or global_filter hides the PV under its NVMe names.",
                "A filter for vda alone rejects nvme0n1. While a devices file is in use the filter "
                "sleeps, and "
                "wakes up when that is switched off.",
                "The merged filter lists, matched by LVM's own matcher against every name the PV "
                "will have.",
                "Add \"a|^/dev/nvme.*|\" in front of the list.",
                "Adds one accepting pattern in front.", "0.1.0"},
    Explanation{"lvm.activation",
                "The image has lvm, and the command line activates root's LV and names none that "
                "does not exist.",
                "On EL only what rd.lvm.lv= or rd.lvm.vg= names is activated in the initramfs; a "
                "name that does "
                "not exist is waited for, and then the boot has failed although root is there.",
                "The image's files and each entry's command line, against the LVs of the guest.",
                "grubby --update-kernel=ALL --args=rd.lvm.lv=VG/ROOT",
                "Names root's LV, takes out what names nothing that is there, and builds an image "
                "without lvm anew.",
                "0.1.0"},
    Explanation{"root.resolves",
                "root= leads, by UUID or LV, to the file system that is mounted at /.",
                "A name such as /dev/vda3 is gone on NVMe; a UUID that two file systems have may "
                "lead to the "
                "wrong one.",
                "libblkid's answer for every block device, and LVM's identity of the LV.",
                "grubby --update-kernel=ALL --args=root=UUID=...",
                "Rewrites a name of the old disk to UUID=.", "0.1.0"},
    Explanation{
        "boot.device-names",
        "No root=, resume=, boot= or rd.luks.* names a disk of the old controller, and resume= "
        "names "
        "something that comes up.",
        "What it names does not exist on NVMe. A resume= that never comes up is waited for without "
        "limit.",
        "Every entry's command line, /etc/kernel/cmdline, /etc/default/grub and grubenv's "
        "kernelopts.",
        "grubby --update-kernel=ALL --args=resume=UUID=..., and the same in /etc/kernel/cmdline.",
        "Rewrites them to UUID=; names the LV of resume= in rd.lvm.lv=, or takes out a resume= "
        "that nothing is.",
        "0.1.0"},
    Explanation{
        "fstab.device-names", "fstab names no disk of the old controller.",
        "systemd waits for the device and then enters emergency mode, unless the line says nofail.",
        "The fields of /etc/fstab, and the UUID that libblkid reads from that device.",
        "Write UUID=... (blkid DEVICE) in the first field.", "Rewrites it to UUID=.", "0.1.0"},
    Explanation{"crypttab.device-names", "crypttab names no disk of the old controller.",
                "The device is never unlocked, and what lies on it never appears.",
                "The second field of each line of /etc/crypttab.",
                "Write UUID=... (blkid DEVICE) in the second field.", "Rewrites it to UUID=.",
                "0.1.0"},
    Explanation{
        "multipath.claims", "multipath does not take the NVMe disk.",
        "NVMe disks are candidates for multipath where virtio disks are not.",
        "find_multipaths and the blacklist of multipath.conf, in the guest and in the images.",
        "blacklist { devnode \"^nvme\" } in /etc/multipath.conf", "", "0.1.0"},
    Explanation{"kdump.image", "The kdump image is rebuilt after the switch.",
                "It is always host-only: a crash could not be dumped to the NVMe disk.",
                "initramfs-*kdump.img in /boot and /var/lib/kdump.",
                "kdumpctl rebuild, after the switch.", "", "0.1.0"},
    Explanation{"names.elsewhere", "Nothing else in /etc names the old disk.",
                "It does not stop the boot; what such a line does no longer works.",
                "The text files of /etc, and GRUB's device.map.",
                "Change the lines it names once the disk is switched.", "", "0.1.0"},
    Explanation{"after.root-disk", "With --verify: the root file system lies on NVMe.",
                "The host may have started the guest with the old controller again.",
                "The disks below the device that is mounted at /.",
                "Switch the controller on the host.", "", "0.1.0"},
    Explanation{"after.mounts",
                "With --verify: everything that fstab mounts and swaps on at boot is up.",
                "A line with nofail is left out silently when its device is not there.",
                "fstab against the kernel's tables of mounts and swaps.",
                "systemctl status of the mount unit; name its device by UUID.", "", "0.1.0"},
    Explanation{"after.volume-group", "With --verify: LVM's commands see root's volume group.",
                "The guest runs although they do not, and then no LV can be extended, and after "
                "the next boot others than root may be missing.",
                "pvs, run in the guest.",
                "nvme-preflight --check --only lvm.devicesfile,lvm.filter names the file.", "",
                "0.1.0"},
    Explanation{"after.failed-units",
                "With --verify: no unit has failed; one of a device, mount, swap or of LVM, or one "
                "that names the old disk, is a fault, others a warning.",
                "What fails at boot and not before the switch has lost its disk.",
                "systemctl list-units --state=failed.", "systemctl status UNIT.", "", "0.1.0"},
    Explanation{"after.devices-file",
                "With --verify: LVM uses its devices file again, if it did before --fix.",
                "Nothing fails. With use_devicesfile = 0 LVM looks at every disk, also at one that "
                "holds another system's volume groups.",
                "LVM's files, those that the runs of --fix in force have kept, and what lvmdevices "
                "writes (in memory) for the PVs of root's volume group.",
                "nvme-preflight --finish: a devices file with the PVs of root's volume group, and "
                "LVM's files as they were before --fix; not while fstab or a mount needs another "
                "volume group. Else lvmdevices --adddev PV for every PV in use, and then "
                "use_devicesfile = 1 in lvm.conf.",
                "", "0.1.0"},
};

}  // namespace

std::span<const Explanation> all_explanations() {
  return explanations;
}

}  // namespace preflight
