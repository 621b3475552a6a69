// SPDX-License-Identifier: MIT
#include "agent/formats/fstab.h"

#include "tests/fuzz/tables.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void fstab(std::string_view input) {
  Facts facts;
  facts.storage = two_disks();
  facts.fstab = parse_fstab("/etc/fstab", std::string(input));
  const DeviceTable& before = *facts.fstab;
  const auto after = edited_by("fstab-uuid", facts, findings_for(before), before.text);
  if (after) check_table(before, parse_fstab(before.path, *after), facts);
}

}  // namespace preflight::fuzz
