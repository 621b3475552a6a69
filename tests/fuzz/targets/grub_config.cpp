// SPDX-License-Identifier: MIT
#include "agent/formats/grub_config.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void grub_config(std::string_view input) {
  const GrubConfig config = parse_grub_config("grub.cfg", input);
  const int lines = 1 + static_cast<int>(std::count(input.begin(), input.end(), '\n'));
  for (const GrubAssignment& assignment : config.assignments) {
    require(assignment.line > 0 && assignment.line <= lines, "assignments know their lines");
    require(!assignment.name.empty(), "assignments have names");
    require(assignment.condition.size() < 2048, "conditions are bounded");
  }
  for (const GrubMenuEntry& entry : config.menu_entries)
    require(entry.line > 0 && entry.line <= lines, "menu entries know their lines");
  require(config.assignments.size() <= 4096 && config.menu_entries.size() <= 4096, "bounded");
}

}  // namespace preflight::fuzz
