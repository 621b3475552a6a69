// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// One assignment that took part in a variable's value.
struct Assignment {
  std::string path;
  int line = 0;
  bool append = false;  // +=
  std::string value;    // the right-hand side after quote removal and expansion
  bool padded = true;   // += with blanks on both sides of the value, or nothing to fuse with
};

struct DracutVariable {
  std::string value;
  std::vector<Assignment> assignments;  // in the order they took effect
};

/// What dracut's configuration says in the end: /etc/dracut.conf first, then the drop-ins of
/// /etc/dracut.conf.d and /usr/lib/dracut/dracut.conf.d merged by name (facts: dracut.sh
/// dropindirs_sort; R9 dracut.sh:967-980).
struct DracutConfig {
  std::vector<std::string> files;  // in the order they are sourced
  std::map<std::string, DracutVariable, std::less<>> variables;
  std::vector<Error> notes;  // lines that do nothing or not what they seem to

  const DracutVariable* find(std::string_view name) const;
  std::string_view value(std::string_view name) const;  // "" when unset

  /// dracut.sh: only the exact word "yes" (or "-h") is host-only.
  bool hostonly() const;
};

/// Errors: unsupported (a line beyond plain assignments, under --root), malformed, denied, ...;
/// each names file and line.
Result<DracutConfig> collect_dracut(const Guest& guest);

/// The same with files replaced or added: guest path -> new content. For proving an edit.
Result<DracutConfig> collect_dracut(const Guest& guest,
                                    const std::map<std::string, std::string>& overlay);

}  // namespace preflight
