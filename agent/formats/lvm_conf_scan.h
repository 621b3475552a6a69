// SPDX-License-Identifier: MIT
// Where things stand in a text of LVM's configuration language. libdevmapper's parser gives values
// without positions; this gives positions without values. Whoever uses both compares them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/result.h"

namespace preflight {

/// One `key = value`. `path` is the key with its sections, joined by '/': "devices/filter".
/// Offsets are in bytes, `end` is exclusive. Lines are 1-based.
struct LvmConfPlace {
  std::string path;
  int line = 0;           // of the key
  std::size_t key = 0;    // where the key begins
  std::size_t begin = 0;  // the value, brackets and quotes included
  std::size_t end = 0;
};

/// One `name { ... }`. `open` and `close` are the offsets of its braces.
struct LvmConfSection {
  std::string path;
  int line = 0;
  std::size_t open = 0;
  std::size_t close = 0;
};

/// From '#' to the end of its line, without the newline.
struct LvmConfComment {
  int line = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct LvmConfScan {
  std::vector<LvmConfPlace> places;  // in the order of the file
  std::vector<LvmConfSection> sections;
  std::vector<LvmConfComment> comments;

  /// What ended the scan early, and the offset up to which the text was looked at. malformed: the
  /// grammar is broken there. unsupported, too_large: a limit of ours.
  std::optional<Error> error;
  std::size_t stop = 0;
};

/// Limits: each level of nesting is a stack frame of more than 8 KiB in libdm-config.c's
/// _section(), and each key is looked up among its siblings one by one (_find_or_make_node).
inline constexpr std::size_t lvm_conf_nesting_cap = 64;
inline constexpr std::size_t lvm_conf_keys_cap = 10000;

/// Follows the tokens of libdm-config.c (_get_token, _section, _value): a key's '/' separates
/// sections, quoted or not; a value needs no separator behind it. `text` holds no NUL.
LvmConfScan scan_lvm_conf(const std::string& path, std::string_view text);

}  // namespace preflight
