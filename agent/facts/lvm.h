// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/facts/release.h"
#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// Where one setting is written. `live` is false for one that LVM does not use there: in another
/// section, overridden by a later one, or of a value it does not accept.
struct LvmSetting {
  std::string path;     // file
  int line = 0;         // 1-based
  std::string section;  // "devices"
  std::string text;     // the value as written: 1, "0", ...
  bool live = true;
  std::string why_not;  // when not live
};

struct LvmFile {
  std::string path;
  std::string text;
};

/// lvm2's version, e.g. 2.3.24 for "2.03.24(2)".
struct LvmVersion {
  std::array<int, 3> number{};
  std::string text;
  std::string source;  // where it was found
};

/// An entry of the devices file (lvmdevices(8)); "." and absent fields are empty.
struct DevicesEntry {
  int line = 0;
  std::string idtype, idname, devname, pvid;
  int part = 0;
};

struct DevicesFile {
  std::string path;
  std::vector<DevicesEntry> entries;
};

struct LvmFacts {
  bool installed = false;      // lvm.conf or the lvm binary is there
  std::string system_dir;      // "/etc/lvm" unless LVM_SYSTEM_DIR moves it
  std::vector<LvmFile> files;  // in the order LVM merges them, the last wins
  std::vector<Error> errors;   // files that cannot be read or do not parse: every lvm command fails
  std::vector<Error> notes;    // duplicates and misplaced keys, harmless as such

  Result<bool> use_devicesfile = fail(ErrorKind::missing, "", "not collected");
  std::vector<LvmSetting> use_devicesfile_settings;  // every place that writes it
  bool use_devicesfile_default = false;              // the build's default
  std::string default_source;                        // how that default is known

  bool search_for_devnames_all = false;  // effective devices/search_for_devnames is "all"
  std::string devicesfile_name = "system.devices";
  Result<DevicesFile> devices_file = fail(ErrorKind::missing, "", "not collected");
  Result<LvmVersion> version = fail(ErrorKind::missing, "", "not collected");

  std::vector<std::string> filter;         // devices/filter patterns, empty when unset
  std::vector<std::string> global_filter;  // devices/global_filter patterns
};

LvmFacts collect_lvm(const Guest& guest, const Result<Release>& release);

}  // namespace preflight
