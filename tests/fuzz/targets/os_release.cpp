// SPDX-License-Identifier: MIT
#include "agent/formats/os_release.h"

#include "agent/facts/release.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void os_release(std::string_view input) {
  const auto fields = parse_os_release_fields("/etc/os-release", input);
  const auto release = parse_os_release("/etc/os-release", input);
  require(fields.has_value() == release.has_value(), "both read or none does");
  if (!fields) return;
  for (const auto& [name, value] : *fields)
    require(!name.empty() && name.find('=') == std::string::npos, "names end at their =");
  require(release->major >= -1 && release->minor >= -1, "numbers are not negative");
  release->is_el();
}

}  // namespace preflight::fuzz
