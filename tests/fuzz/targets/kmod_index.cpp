// SPDX-License-Identifier: MIT
// The binary indexes: a key (the first part) is asked of an index (the rest).
#include "agent/formats/kmod_index.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void kmod_index(std::string_view input) {
  const std::vector<std::string> parts = parts_of(input, 2);
  const Result<KmodIndex> index = KmodIndex::open("index", parts[1]);
  if (!index) return;
  const auto found = index->find(parts[0]);
  if (found && *found) require(!parts[1].empty(), "values come from the file");
  index->match(parts[0]);
  index->match("pci:v0000FB5Dd00000A0Asv00000000sd00000000bc01sc08i02");
}

}  // namespace preflight::fuzz
