// SPDX-License-Identifier: MIT
// What the fuzz targets share. A target is a function of bytes that must return, whatever they are;
// what must hold of the result it says with require().
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::fuzz {

/// Ends the process where a property does not hold, as libFuzzer wants it.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken property: %s\n", what);
  std::abort();
}

/// The parts of an input of several texts. The separator is a byte that no format knows.
inline std::vector<std::string> parts_of(std::string_view input, std::size_t count) {
  constexpr char separator = '\x1e';
  std::vector<std::string> parts(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 == count ? std::string_view::npos : input.find(separator);
    parts[i] = std::string(input.substr(0, end));
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + 1);
  }
  return parts;
}

/// Whether a text can be shown: no control characters but tabs and ends of lines.
inline bool is_showable(std::string_view text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == '\x7f')
      return false;
  return true;
}

}  // namespace preflight::fuzz
