// SPDX-License-Identifier: MIT
// Filter lists: each line of the input is a pattern. Putting one in front that accepts a name makes
// the list accept that name and leaves what it says of other names alone. Not where brackets are
// written: libdm reads all patterns as one expression, and a bracket that is not closed swallows
// its neighbours. That is LVM's own behaviour, for which lvm-filter judges its edit anew.
#include "agent/formats/lvm_filter.h"

#include "agent/formats/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void lvm_filter(std::string_view input) {
  std::vector<std::string> patterns;
  for (const std::string_view line : split_lines(input)) patterns.emplace_back(line);
  const Result<LvmFilter> filter = LvmFilter::create("filter", patterns);
  if (!filter) return;
  const LvmFilterVerdict other = filter->judge({"/dev/vda3"});
  require(!other.pattern || *other.pattern < patterns.size(), "a pattern of the list decides");
  filter->judge({"/dev/nvme0n1p3", "/dev/disk/by-id/nvme-x", std::string(input.substr(0, 5000))});

  if (input.find_first_of("[]()\\") != std::string_view::npos) return;
  patterns.insert(patterns.begin(), "a|^/dev/nvme|");
  const Result<LvmFilter> widened = LvmFilter::create("filter", patterns);
  if (!widened) return;  // over the cap now
  require(widened->judge({"/dev/nvme0n1p3"}).accepted, "the pattern in front decides");
  require(widened->judge({"/dev/vda3"}).accepted == other.accepted, "other names are judged alike");
}

}  // namespace preflight::fuzz
