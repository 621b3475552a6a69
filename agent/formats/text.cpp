// SPDX-License-Identifier: MIT
#include "agent/formats/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace preflight {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

/// Length of the well-formed UTF-8 sequence at the start of `bytes`, 0 if there is none (RFC 3629:
/// no overlong forms, no surrogates, nothing above U+10FFFF). `code` receives the code point.
std::size_t utf8_sequence(std::string_view bytes, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  if (first < 0x80) {
    code = first;
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    code = first & 0x1fu;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    code = first & 0x0fu;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    code = first & 0x07u;
  } else {
    return 0;
  }
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

/// Characters that move the cursor or reorder what a reader sees.
bool drives_the_terminal(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = utf8_sequence(bytes, code);
    if (length > 0 && !drives_the_terminal(code)) {
      out.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
      continue;
    }
    for (std::size_t i = 0, n = length > 0 ? length : 1; i < n; ++i)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[i]));
    bytes.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t start = text.find_first_not_of(blanks);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const std::size_t end = text.find_first_of(blanks);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    pieces.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return pieces;
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(blanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

}  // namespace preflight
