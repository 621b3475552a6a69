// SPDX-License-Identifier: MIT
// A check is one step of the boot that is rehearsed: facts in, findings out, no I/O.
#pragma once

#include <string_view>
#include <vector>

#include "agent/facts/facts.h"
#include "agent/finding.h"

namespace preflight {

struct Check {
  std::string_view id;     // "initramfs.driver": a contract
  std::string_view title;  // a few words for a person
  std::vector<Finding> (*run)(const Facts& facts);
};

}  // namespace preflight
