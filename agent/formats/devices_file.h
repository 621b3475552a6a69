// SPDX-License-Identifier: MIT
// LVM's devices file (lvmdevices(8)), as device_ids_read() of lib/device/device_id.c reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace preflight {

/// An entry of the devices file; "." and absent fields are empty. `pvid` has no dashes where LVM
/// wrote it.
struct DevicesEntry {
  int line = 0;
  std::string idtype, idname, devname, pvid;
  int part = 0;
};

struct DevicesFile {
  std::string path;
  std::string text;
  std::vector<DevicesEntry> entries;
};

/// Pure reader; there is no text that LVM would not accept: a line without IDTYPE and IDNAME is
/// passed over. `text` should be capped (config_cap).
DevicesFile parse_devices_file(std::string path, std::string_view text);

/// Whether the name can be a devices file's (validate_name() of lib/misc/lvm-string.c): LVM refuses
/// to run with devices/devicesfile set to another.
bool is_devices_file_name(std::string_view name);

}  // namespace preflight
