// SPDX-License-Identifier: MIT
// Old names anywhere in a file, and multipath.conf.
#include "agent/facts/surroundings.h"

#include "agent/facts/stable_name.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void surroundings(std::string_view input) {
  for (const NameHit& hit : find_controller_names("/etc/x", input))
    require(hit.line > 0 && hit.name.size() <= 200, "hits are bounded");
  read_find_multipaths(input);
  const std::string device = device_of_unit(input);
  require(device.empty() || device.starts_with("/dev/"), "a unit's device is a device");
  why_it_changes(input);
}

}  // namespace preflight::fuzz
