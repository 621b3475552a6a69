// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// One block device: a disk, a partition or a device-mapper device.
struct BlockDevice {
  std::string name;     // kernel name: "vda3", "dm-0"
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

  bool is_virtio() const;  // by name (vdX) or transport
  bool is_nvme() const;
};

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

  /// Devices that carry that file-system UUID (compared as libblkid prints it, case-insensitively).
  std::vector<std::size_t> with_uuid(std::string_view uuid) const;

  /// What a device specification of fstab or root= leads to today: UUID=, LABEL=, PARTUUID=,
  /// PARTLABEL=, /dev/mapper/x, /dev/vg/lv, /dev/name, /dev/disk/by-*/.. Several for duplicates.
  std::vector<std::size_t> resolve(std::string_view spec) const;
};

/// device-mapper's name for a VG and LV: dashes doubled, joined by one dash ("my-vg","lv" ->
/// "my--vg-lv"; libdevmapper dm_build_dm_name).
std::string dm_name_of(std::string_view vg, std::string_view lv);

/// Pure reader of lsblk's JSON. `path` names the source of errors.
Result<Storage> parse_lsblk(const std::string& path, std::string_view text);

/// Errors: missing (no disks attached to this tree and no --lsblk), denied, malformed.
Result<Storage> collect_storage(const Guest& guest);

}  // namespace preflight
