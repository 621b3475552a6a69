// SPDX-License-Identifier: MIT
// fstab(5) and crypttab(5): pure readers that keep where each device specification stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/result.h"

namespace preflight {

/// One line of fstab or crypttab. `offset` and `length` are the byte span of the device field in
/// the file's text, so that an edit replaces it and nothing else.
struct DeviceLine {
  int line = 0;         // 1-based
  std::string device;   // fstab's first field, crypttab's second, octal escapes decoded
  std::string name;     // fstab: mount point; crypttab: name of the mapping
  std::string type;     // fstab: file-system type; crypttab: key file
  std::string options;  // comma-separated
  std::size_t offset = 0;
  std::size_t length = 0;

  bool has_option(std::string_view option) const;
  /// The boot does not wait for it: nofail or noauto.
  bool is_optional() const { return has_option("nofail") || has_option("noauto"); }
};

struct DeviceTable {
  std::string path;
  std::string text;
  std::vector<DeviceLine> lines;
  std::vector<Error> notes;  // lines that are skipped for being malformed, with their number
};

/// As libmount reads it (libmount/src/tab_parse.c, mnt_parse_table_line): fields between blanks,
/// octal escapes, comments only at the start of a line, options and the two numbers may be missing.
DeviceTable parse_fstab(std::string path, std::string text);

/// As systemd reads it (systemd src/cryptsetup/cryptsetup-generator.c, add_crypttab_devices): name,
/// device, and optionally key file and options.
DeviceTable parse_crypttab(std::string path, std::string text);

}  // namespace preflight
