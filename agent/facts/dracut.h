// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/dracut_conf.h"
#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// What dracut's configuration says in the end: /etc/dracut.conf first, then the drop-ins of
/// /etc/dracut.conf.d and /usr/lib/dracut/dracut.conf.d merged by name (dracut.sh dropindirs_sort;
/// R9 dracut.sh:967-980).
struct DracutConfig {
  std::vector<std::string> files;  // in the order they are sourced
  DracutVariables variables;
  std::vector<Error> notes;  // lines that do nothing or not what they seem to

  std::vector<DracutFile> sources;  // the texts behind `files`, for trying an edit
  bool by_bash = false;             // evaluated by the guest's bash: assignments have no lines

  const DracutVariable* find(std::string_view name) const;
  std::string_view value(std::string_view name) const;  // "" when unset

  /// dracut.sh: only the exact word "yes" (or "-h") is host-only (R8 dracut.sh:842-843,
  /// R9:1231-1232, R10:1275-1276).
  bool hostonly() const;
};

/// What the files say, by the reader of plain assignments alone. For trying an edit without a
/// guest. Errors: as evaluate_dracut_conf.
Result<DracutConfig> evaluate_dracut(std::vector<DracutFile> sources);

/// Errors: missing (no dracut and no configuration of it), unsupported (a line beyond plain
/// assignments, under --root or where bash cannot be asked), malformed, wrong_type, denied, ...;
/// each names file and line.
Result<DracutConfig> collect_dracut(const Guest& guest);

/// The same with files replaced or added: guest path -> new content. For proving an edit.
Result<DracutConfig> collect_dracut(const Guest& guest,
                                    const std::map<std::string, std::string>& overlay);

}  // namespace preflight
