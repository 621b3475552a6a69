// SPDX-License-Identifier: MIT
// fstab and crypttab: the editor changes device fields that name the old controller, and not one
// byte more.
#pragma once

#include <fmt/format.h>

#include <string>

#include "agent/facts/stable_name.h"
#include "tests/fuzz/edits.h"

namespace preflight::fuzz {

/// `after` as it has to be: every device that changes replaced by its UUID, from the end.
inline void check_table(const DeviceTable& before, const DeviceTable& after, const Facts& facts) {
  require(before.lines.size() == after.lines.size() && before.notes.size() == after.notes.size(),
          "no line comes or goes");
  std::string expected = before.text;
  for (std::size_t i = before.lines.size(); i-- > 0;) {
    const DeviceLine& a = before.lines[i];
    const DeviceLine& b = after.lines[i];
    require(a.line == b.line && a.name == b.name && a.type == b.type && a.options == b.options,
            "only the device of a line changes");
    require(a.offset + a.length <= before.text.size(), "fields lie in the text");
    if (!why_it_changes(a.device)) {
      require(a.device == b.device, "names that stay are kept");
      continue;
    }
    require(b.device == stable_name(facts.storage, a.device).value(), "the new name is the UUID");
    expected.replace(a.offset, a.length, b.device);
  }
  require(expected == after.text, "every other byte is kept");
}

inline std::vector<Finding> findings_for(const DeviceTable& table) {
  std::vector<Finding> findings;
  for (const DeviceLine& line : table.lines) {
    if (!why_it_changes(line.device)) continue;
    findings.emplace_back();
    findings.back().subject = fmt::format("{}:{}", table.path, line.line);
  }
  return findings;
}

}  // namespace preflight::fuzz
