// SPDX-License-Identifier: MIT
// What --explain says of each check. The man page and README's table are tested against it.
#pragma once

#include <span>
#include <string_view>

namespace preflight {

struct Explanation {
  std::string_view check;
  std::string_view meaning;   // what is asked, and when it fails
  std::string_view why;       // why that stops the boot after the switch
  std::string_view verified;  // what the answer is taken from
  std::string_view by_hand;   // how to mend it without --fix
  std::string_view fix;       // what --fix does; empty where it does nothing
  std::string_view since;     // version of the tool
};

/// In boot order, one per check; those of --verify alone (`after.`) come last.
std::span<const Explanation> all_explanations();

}  // namespace preflight
