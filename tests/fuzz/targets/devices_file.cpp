// SPDX-License-Identifier: MIT
#include "agent/formats/devices_file.h"

#include "agent/formats/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void devices_file(std::string_view input) {
  const DevicesFile file = parse_devices_file("devices", input);
  const int lines = static_cast<int>(split_lines(input).size());
  for (const DevicesEntry& entry : file.entries) {
    require(entry.line > 0 && entry.line <= lines + 1, "entries know their lines");
    require(entry.pvid.size() <= 32, "PVIDs are cut");
  }
  is_devices_file_name(input);
}

}  // namespace preflight::fuzz
