// SPDX-License-Identifier: MIT
// LVM's configuration language as LVM reads it: libdevmapper's dm_config_* says what the values
// are. Where they stand comes from lvm_conf_scan.h and is believed only where both agree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/lvm_conf_scan.h"
#include "agent/result.h"

struct dm_config_tree;

namespace preflight {

struct LvmConfValue {
  enum class Type { integer, real, text, empty_array };
  Type type = Type::text;
  std::int64_t integer = 0;
  float real = 0;
  std::string text;

  bool operator==(const LvmConfValue&) const = default;
};

/// A scalar is a list of one.
using LvmConfValues = std::vector<LvmConfValue>;

/// A node has values, or is a section, or (rarely) both.
struct LvmConfNode {
  std::optional<LvmConfValues> values;
  bool section = false;

  bool operator==(const LvmConfNode&) const = default;
};

/// Every node by its path, the keys joined by '/': "devices", "devices/filter".
using LvmConfTree = std::map<std::string, LvmConfNode, std::less<>>;

inline constexpr std::size_t lvm_conf_cap = 1u << 20;  // bytes

/// One file of LVM's configuration, read. Paths are like "devices/use_devicesfile".
class LvmConf {
 public:
  /// Errors, with `path` as their source:
  /// malformed: libdevmapper rejects the text (its own message and line), or it is not empty and
  /// yet holds no setting, which LVM takes for a file that failed to load. An empty text is fine.
  /// too_large, unsupported: over lvm_conf_cap, or beyond what is read here.
  /// A NUL ends the text, as it does for LVM (libdm-config.c, _get_token).
  static Result<LvmConf> parse(std::string path, std::string text);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

  /// The values of a setting; the last assignment counts. nullopt when it is not set.
  std::optional<LvmConfValues> values(std::string_view setting) const;

  /// A setting as LVM takes a boolean: a number, or y/yes/on/true, n/no/off/false; of several
  /// values the first. nullopt when it is not set or is no boolean: LVM then uses its default.
  std::optional<bool> boolean(std::string_view setting) const;

  /// Whether the path is there as a section without values.
  bool is_section(std::string_view path) const;

  /// The names of the sections directly in a section, in the order of the file.
  std::vector<std::string> sections_in(std::string_view section) const;

  LvmConfTree tree() const;

  /// Every assignment to a setting, in the order of the file: the last one counts. Error
  /// unsupported: libdevmapper sees another value than the one at the last place.
  Result<std::vector<LvmConfPlace>> places(std::string_view setting) const;

  const LvmConfScan& scan() const { return scan_; }

  /// The value at a place as it is written.
  std::string_view written(const LvmConfPlace& place) const {
    return std::string_view(text_).substr(place.begin, place.end - place.begin);
  }

 private:
  LvmConf(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  std::string path_;
  std::string text_;
  LvmConfScan scan_;
  std::shared_ptr<const dm_config_tree> tree_;  // null for an empty text
};

}  // namespace preflight
