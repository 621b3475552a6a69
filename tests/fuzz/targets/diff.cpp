// SPDX-License-Identifier: MIT
// A diff that is shown is one that patch(1) would take: applied to the text before, it gives the
// text after.
#include "agent/formats/diff.h"

#include <charconv>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

std::vector<std::string> lines_with_ends(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.emplace_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// The first line of the text before that a hunk "@@ -a,b +c,d @@" is about, from 0.
std::size_t start_of(const std::string& hunk) {
  std::size_t first = 0, count = 1;
  const char* const end = hunk.data() + hunk.size();
  const auto number = std::from_chars(hunk.data() + 4, end, first);
  require(number.ec == std::errc(), "a hunk has a line number");
  if (*number.ptr == ',') std::from_chars(number.ptr + 1, end, count);
  return count == 0 ? first : first - 1;
}

std::string patched(const std::vector<std::string>& before, const std::string& diff) {
  std::string after;
  std::size_t at = 0;
  std::vector<std::string> lines = lines_with_ends(diff);
  for (std::size_t i = 2; i < lines.size(); ++i) {
    std::string line = lines[i];
    if (line.starts_with("@@ ")) {
      for (const std::size_t start = start_of(line); at < start; ++at) after += before.at(at);
      continue;
    }
    if (line.starts_with("\\ ")) continue;
    const bool no_end = i + 1 < lines.size() && lines[i + 1].starts_with("\\ ");
    if (no_end) line.pop_back();
    const std::string text = line.substr(1);
    if (line[0] != '+') require(at < before.size() && before[at++] == text, "context is right");
    if (line[0] != '-') after += text;
  }
  for (; at < before.size(); ++at) after += before[at];
  return after;
}

}  // namespace

void diff(std::string_view input) {
  const std::vector<std::string> parts = parts_of(input, 2);
  const std::string diff = unified_diff("a", parts[0], "b", parts[1]);
  require(diff.empty() == (parts[0] == parts[1]), "equal texts have no diff");
  if (!diff.empty())
    require(patched(lines_with_ends(parts[0]), diff) == parts[1], "the diff gives the new text");
}

}  // namespace preflight::fuzz
