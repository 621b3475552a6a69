// SPDX-License-Identifier: MIT
#include "agent/formats/os_release.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "agent/formats/text.h"

namespace preflight {

namespace {

bool is_name(std::string_view text) {
  const auto belongs = [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && (text[0] < '0' || text[0] > '9') &&
         std::all_of(text.begin(), text.end(), belongs);
}

/// Removes a shell word's quotes; stops at an unquoted blank, where the shell's word ends. nullopt
/// when a quote is not closed.
std::optional<std::string> unquote(std::string_view text) {
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && quote != '\'' && next != '\0' &&
        (quote == 0 || std::string_view("\"$`\\").find(next) != std::string_view::npos)) {
      out += next;
      ++i;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      break;
    } else {
      out += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return out;
}

}  // namespace

Result<OsReleaseFields> parse_os_release_fields(const std::string& path, std::string_view text) {
  OsReleaseFields fields;
  int line = 0;
  for (const std::string_view raw : split_lines(text)) {
    ++line;
    const std::string_view assignment = trim(raw);
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos || !is_name(assignment.substr(0, equals))) continue;
    std::optional<std::string> value = unquote(assignment.substr(equals + 1));
    if (!value) return fail(ErrorKind::malformed, path, "a quote is not closed", line);
    fields[std::string(assignment.substr(0, equals))] = std::move(*value);
  }
  if (fields.empty()) return fail(ErrorKind::malformed, path, "holds no assignment");
  return fields;
}

}  // namespace preflight
