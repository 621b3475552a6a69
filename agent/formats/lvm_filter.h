// SPDX-License-Identifier: MIT
// devices/filter and devices/global_filter of lvm.conf(5), matched with LVM's own engine.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/result.h"

namespace preflight {

/// Why a device passes or not. `pattern` is the index, in the list as written, of the pattern that
/// decided, with the name it matched; nullopt when none matched (the device is then accepted).
struct LvmFilterVerdict {
  bool accepted = true;
  std::optional<std::size_t> pattern;
  std::string name;
};

/// All patterns of one list, in bytes: libdm's engine needs memory that grows with the square.
inline constexpr std::size_t lvm_filter_cap = 4096;

/// One filter list. Not for use by several threads at once: the engine builds its states lazily.
class LvmFilter {
 public:
  /// `patterns` as written: "a|^/dev/sda$|", "r/.*/". An empty list accepts everything. Errors,
  /// with `path` as their source: malformed (LVM refuses to run with it: filter-regex.c,
  /// _extract_pattern), unsupported (over lvm_filter_cap, or not printable ASCII: libdm's pattern
  /// parser indexes with a signed char).
  static Result<LvmFilter> create(const std::string& path,
                                  const std::vector<std::string>& patterns);

  /// Whether a device with these names passes: accepted by the first name whose first matching
  /// pattern accepts; rejected when some name was rejected and none accepted; accepted when nothing
  /// matches (filter-regex.c, _accept_p). Names longer than 4095 bytes match nothing.
  LvmFilterVerdict judge(const std::vector<std::string>& names) const;

 private:
  struct Engine;
  explicit LvmFilter(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  std::shared_ptr<Engine> engine_;
};

}  // namespace preflight
