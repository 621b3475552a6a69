// SPDX-License-Identifier: MIT
#include "agent/report/wrap.h"

#include <algorithm>

#include "agent/formats/text.h"

namespace preflight {

namespace {

long columns(std::string_view word) {
  return std::count_if(word.begin(), word.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; });
}

}  // namespace

std::string wrap(std::string_view text, int indent, int width) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out;
  long used = 0;
  for (const std::string_view word : split_words(text)) {
    const long length = columns(word);
    if (used > 0 && indent + used + 1 + length > width) {
      out += '\n';
      used = 0;
    }
    out += used == 0 ? margin : " ";
    out += word;
    used += length + (used > 0 ? 1 : 0);
  }
  return out + "\n";
}

}  // namespace preflight
