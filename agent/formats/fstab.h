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
  bool made_anew = false;  // crypttab: a random key or no header, so that no UUID outlives the boot

  bool has_option(std::string_view option) const;
  /// Of two options that undo each other the last counts (systemd fstab-util.c
  /// fstab_test_yes_no_option); false when neither is there.
  bool is_set(std::string_view option, std::string_view opposite) const;
  bool is_nofail() const { return is_set("nofail", "fail"); }
  bool is_noauto() const { return is_set("noauto", "auto"); }
  /// The boot does not wait for it.
  bool is_optional() const { return is_nofail() || is_noauto(); }
};

struct DeviceTable {
  std::string path;
  std::string text;
  std::vector<DeviceLine> lines;
  std::vector<Error> notes;  // malformed lines, with their number
};

/// As systemd's fstab-generator reads it, which makes the boot's mounts: by glibc's getmntent()
/// (misc/mntent_r.c). Fields between blanks, octal escapes, comments only at the start of a line,
/// all fields but the first two may be missing, a "\r" is a character like others. `notes` names
/// the lines that libmount, and so mount(8), skips (libmount/src/tab_parse.c).
DeviceTable parse_fstab(std::string path, std::string text);

/// As systemd reads it (systemd src/cryptsetup/cryptsetup-generator.c, add_crypttab_devices): name,
/// device, and optionally key file and options.
DeviceTable parse_crypttab(std::string path, std::string text);

}  // namespace preflight
