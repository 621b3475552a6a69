// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string_view>

namespace preflight {

/// Calls `look` with each line (without its '\n') and its number from 1, as split_lines() divides,
/// without a list of them: an index of 8 MiB can be eight million lines. `look` returns false to
/// end it; so does this then.
template <class Look>
bool each_line(std::string_view text, const Look& look) {
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!look(text.substr(0, end), ++number)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace preflight
