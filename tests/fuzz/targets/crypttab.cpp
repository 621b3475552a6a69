// SPDX-License-Identifier: MIT
#include "agent/formats/fstab.h"
#include "tests/fuzz/tables.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void crypttab(std::string_view input) {
  Facts facts;
  facts.storage = two_disks();
  facts.crypttab = parse_crypttab("/etc/crypttab", std::string(input));
  const DeviceTable& before = *facts.crypttab;
  const auto after = edited_by("crypttab-uuid", facts, findings_for(before), before.text);
  if (after) check_table(before, parse_crypttab(before.path, *after), facts);
}

}  // namespace preflight::fuzz
