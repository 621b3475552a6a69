// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// One block device: a disk, a partition or a device-mapper device.
struct BlockDevice {
  std::string name;     // kernel name: "vda3", "dm-0"
  std::string number;   // "254:3", as /dev/block names it; empty when not known
  std::string path;     // "/dev/vda3", "/dev/mapper/rl-root"
  std::string type;     // lsblk's words: disk, part, lvm, crypt, rom, ...
  std::string dm_name;  // "rl-root"
  std::string dm_uuid;  // "LVM-<vg uuid><lv uuid>"
  std::string fstype;   // "xfs", "LVM2_member", "swap"
  std::string uuid, label;
  std::string partuuid, partlabel;
  std::string serial;
  std::string transport;             // lsblk's TRAN: "virtio", "nvme", ...
  std::uint32_t sector_size = 0;     // logical, bytes; 0 when not known
  std::vector<std::string> mounts;   // mount points in the guest; "[SWAP]" for an active swap
  std::vector<std::size_t> parents;  // indexes of what it lies on
  std::optional<Error> probe_error;  // e.g. an ambivalent file system signature

  std::string pvid() const;  // of a PV: its UUID without dashes, as the devices file has it
  bool is_virtio() const;    // by name (vdX) or transport
  bool is_nvme() const;

  /// An LV that is meant to be used: not one of LVM's own layers ("rl-root-real", "rl-pool_tdata").
  bool is_logical_volume() const;

  /// A PV, array member or multipath path: udev makes no by-uuid or by-label link for it
  /// (60-persistent-storage.rules links only ID_FS_USAGE filesystem, other and crypto).
  bool is_member() const;
};

/// A device as fstab, crypttab, root= or resume= names it.
enum class SpecKind {
  uuid,       // UUID=, /dev/disk/by-uuid/
  label,      // LABEL=, /dev/disk/by-label/
  partuuid,   // PARTUUID=, /dev/disk/by-partuuid/
  partlabel,  // PARTLABEL=, /dev/disk/by-partlabel/
  id,         // ID=, /dev/disk/by-id/
  by_path,    // /dev/disk/by-path/
  mapper,     // /dev/mapper/NAME
  volume,     // /dev/VG/LV; the value is "VG/LV"
  kernel,     // /dev/vda3, /dev/dm-0; the value is "vda3"
  number,     // /dev/block/254:3
  other,      // nothing of the above: nfs, tmpfs, "", ...
};

struct DeviceSpec {
  SpecKind kind = SpecKind::other;
  std::string value;  // quotes taken off, udev's \xNN decoded
};

/// Takes one specification apart. Quotes around a tag's value are dropped as libblkid and
/// systemd drop them; doubled slashes in paths count as one.
DeviceSpec parse_device_spec(std::string_view spec);

/// The guest's block devices: probed live, or as `lsblk --json --bytes --output-all` printed them.
struct Storage {
  std::string source;  // "live" or the --lsblk file
  std::vector<BlockDevice> devices;

  /// The device mounted at that guest mount point.
  std::optional<std::size_t> mounted_at(std::string_view mount_point) const;

  /// The disks that a device lies on, down through partitions and device-mapper.
  std::vector<std::size_t> disks_under(std::size_t device) const;

  /// PVs (fstype LVM2_member) that a device lies on.
  std::vector<std::size_t> pvs_under(std::size_t device) const;

  /// Device-mapper device of that LV ("rl", "root"), if it is there.
  std::optional<std::size_t> logical_volume(std::string_view vg, std::string_view lv) const;

  /// Devices that carry that UUID (compared as libblkid prints it, case-insensitively). One that
  /// another of them lies on is left out: the leg of a mirror, the path of a multipath device.
  std::vector<std::size_t> with_uuid(std::string_view uuid) const;

  /// Everything a device lies on, the device itself left out, nearest first.
  std::vector<std::size_t> below(std::size_t device) const;

  /// The nearest LV at or below a device: what LVM has to activate before the device can be there.
  std::optional<std::size_t> volume_under(std::size_t device) const;

  /// What a device specification of fstab or root= leads to today: UUID=, LABEL=, PARTUUID=,
  /// PARTLABEL=, /dev/mapper/x, /dev/vg/lv, /dev/name, /dev/disk/by-*/.. Several for duplicates.
  /// Empty for what leads nowhere and for by-path names, which no listing tells.
  std::vector<std::size_t> resolve(std::string_view spec) const;

  /// Whether these are the devices of one btrfs, which any of them leads to.
  bool are_one_btrfs(const std::vector<std::size_t>& found) const;

  /// Why the first device that could not be looked into could not; nullptr when all could.
  const Error* first_probe_error() const;
};

/// device-mapper's name for a VG and LV: dashes doubled, joined by one dash ("my-vg","lv" ->
/// "my--vg-lv"; libdevmapper dm_build_dm_name).
std::string dm_name_of(std::string_view vg, std::string_view lv);

struct VolumeName {
  std::string vg, lv;
};

/// The inverse of dm_name_of for an LV's own device ("my--vg-lv" -> "my-vg", "lv"); nullopt for
/// names that no LV has and for LVM's layers ("rl-root-real").
std::optional<VolumeName> split_dm_name(std::string_view dm_name);

/// Pure reader of `lsblk --json --bytes --output-all` as util-linux 2.32 to 2.40 print it: nested
/// or flat, a device that several others carry printed several times. Columns may be missing.
/// `path` names the source of errors: malformed, too_large (over 100000 devices).
Result<Storage> parse_lsblk(const std::string& path, std::string_view text);

/// Errors: missing (no disks attached to this tree and no --lsblk), denied, malformed.
Result<Storage> collect_storage(const Guest& guest);

}  // namespace preflight
