// SPDX-License-Identifier: MIT
// The block devices of this machine: sysfs, and libblkid's low-level probe on a device opened here.
// The only place that opens block devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/fd.h"
#include "agent/guest/root.h"
#include "agent/result.h"

namespace preflight {

/// What /sys/class/block says about one device.
struct SysBlock {
  std::string name;    // "vda3", "dm-0"; '!' stands for '/' (cciss!c0d0)
  std::string number;  // "254:3"
  std::string type;    // lsblk's words: disk, part, lvm, crypt, mpath, raid1, loop, rom
  std::string disk;    // of a partition: the name of its disk
  std::vector<std::string> slaves;  // names of the devices it lies on
  std::string dm_name, dm_uuid;
  std::string serial;
  std::string transport;
  std::uint32_t sector_size = 0;  // bytes
  std::uint64_t sectors = 0;      // of 512 bytes, whatever the sector size
  bool suspended = false;         // a read would block until somebody resumes it
};

/// Devices with a size, sorted by name; RAM disks and floppies left out. `host` is a Root of "/".
Result<std::vector<SysBlock>> list_block_devices(const Root& host);

/// What the device itself says (libblkid). Empty fields where it says nothing.
struct BlockContent {
  std::string fstype, uuid, label;
  std::string partuuid, partlabel;
};

/// Opens the device's node read-only, after making sure that it is that very block device.
/// Errors: missing, denied, wrong_type, io.
Result<Fd> open_block_device(const Root& host, const SysBlock& device);

/// Probes an opened block device or image file. Errors: unsupported (more than one signature: an
/// ambivalent answer is no answer), io. `name` is for the error.
Result<BlockContent> probe_content(int fd, const std::string& name);

}  // namespace preflight
