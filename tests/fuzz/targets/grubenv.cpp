// SPDX-License-Identifier: MIT
#include "agent/formats/grubenv.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void grubenv(std::string_view input) {
  const Result<GrubEnvironment> environment = parse_grubenv("grubenv", input);
  if (!environment) return;
  require(input.starts_with("# GRUB Environment Block\n"), "there is a signature");
  for (const auto& [name, variable] : environment->variables) {
    require(name.find('=') == std::string::npos, "names end at their =");
    require(variable.line > 0, "variables know their lines");
    require(environment->value(name) == variable.value, "what is listed is found");
  }
}

}  // namespace preflight::fuzz
