// SPDX-License-Identifier: MIT
#include "agent/report/wrap.h"

#include <algorithm>

#include "agent/formats/text.h"

namespace preflight {

std::string wrap(std::string_view text, int indent, int width) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out;
  int used = 0;
  for (const std::string_view word : split_words(text)) {
    const int length = columns_of(word);
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

int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // no continuation byte of UTF-8
  }));
}

std::string cut(std::string text, int width) {
  if (columns_of(text) <= width) return text;
  while (columns_of(text) > width - 3) text.pop_back();
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  return text + "...";
}

}  // namespace preflight
