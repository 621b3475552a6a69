// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/release.h"
#include "agent/formats/devices_file.h"
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

/// An LV of a metadata backup (vgcfgbackup(8)), which LVM writes at every change: it need not be
/// active to be there.
struct RecordedVolume {
  std::string vg, lv;
};

struct LvmFacts {
  bool installed = false;      // lvm.conf or the lvm binary is there
  std::string system_dir;      // "/etc/lvm": what boots does not run in our environment, so our own
                               // LVM_SYSTEM_DIR says nothing about it
  std::vector<LvmFile> files;  // in the order LVM merges them, the last wins
  std::vector<Error> errors;   // files that cannot be read or do not parse: every lvm command fails
  std::vector<Error> notes;    // duplicates and misplaced keys, harmless as such
  std::vector<Error> read_errors;  // those of `errors` that are no matter of content

  Result<bool> use_devicesfile = fail(ErrorKind::missing, "", "not collected");
  std::vector<LvmSetting> use_devicesfile_settings;  // every place that writes it
  bool use_devicesfile_default = false;              // the build's default, if it is known
  std::string default_source;                        // how that default is known; empty: it is not

  /// Index of the setting that counts after the merge. It is not live when LVM does not accept its
  /// value: then the default applies, in spite of settings in earlier files.
  std::optional<std::size_t> use_devicesfile_decider;
  std::vector<LvmSetting> use_devicesfile_comments;  // comments that show it as a setting

  bool search_for_devnames_all = false;            // effective devices/search_for_devnames is "all"
  std::optional<std::string> search_for_devnames;  // as set; unset: "auto", from 2.03.23 on "all"
  std::string devicesfile_name = "system.devices";
  Result<DevicesFile> devices_file = fail(ErrorKind::missing, "", "not collected");
  Result<LvmVersion> version = fail(ErrorKind::missing, "", "not collected");

  std::vector<RecordedVolume> recorded_volumes;  // of /etc/lvm/backup, where it can be read

  std::vector<std::string> filter;         // devices/filter patterns, empty when unset
  std::vector<std::string> global_filter;  // devices/global_filter patterns

  /// Host tags (lvm.conf(5), TAGS): they add files, and a section with `tags` counts only where one
  /// of them is set. The error says why they are not known.
  Result<std::vector<std::string>> tags = std::vector<std::string>{};
};

LvmFacts collect_lvm(const Guest& guest, const Result<Release>& release);

/// Everything that follows from `files`, `tags`, the default and the version, computed anew. Pure;
/// for proving an edit of one of the files.
LvmFacts merge_lvm(LvmFacts facts);

/// The first version of lvm2 that a text or a binary names, like "2.03.24(2)-RHEL9 (2024-05-16)".
/// `source` is left empty. nullopt when there is none.
std::optional<LvmVersion> find_lvm_version(std::string_view bytes);

/// The boolean in what `lvmconfig devices/<name>` prints, "# use_devicesfile=0" (a default) as
/// well.
std::optional<bool> parse_lvmconfig_boolean(std::string_view output, std::string_view name);

}  // namespace preflight
