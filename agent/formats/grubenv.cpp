// SPDX-License-Identifier: MIT
#include "agent/formats/grubenv.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace preflight {

namespace {

constexpr std::string_view signature = "# GRUB Environment Block\n";

/// Where the line's newline is, backslashes protecting the byte behind them; npos if there is none.
std::size_t end_of_line(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return at < text.size() ? at : std::string_view::npos;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

int newlines(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::string_view GrubEnvironment::value(std::string_view name) const {
  const Variable* variable = find(name);
  return variable ? std::string_view(variable->value) : std::string_view();
}

const GrubEnvironment::Variable* GrubEnvironment::find(std::string_view name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

Result<GrubEnvironment> parse_grubenv(const std::string& path, std::string_view text) {
  if (text.size() <= signature.size() || text.substr(0, signature.size()) != signature)
    return fail(ErrorKind::malformed, path,
                "does not begin with the line \"# GRUB Environment Block\": GRUB loads nothing "
                "from it",
                1);
  GrubEnvironment out;
  out.path = path;
  int line = 2;
  for (std::size_t at = signature.size(); at < text.size();) {
    const bool padding = text[at] == '#';
    const std::size_t equals = text.find('=', at);
    if (!padding && equals == std::string_view::npos) break;
    const std::size_t value = padding ? at : equals + 1;
    const std::size_t end = end_of_line(text, value);
    if (end == std::string_view::npos) break;
    if (!padding)
      out.variables[std::string(text.substr(at, equals - at))] = {
          unescape(text.substr(value, end - value)), line, value, end - value};
    line += newlines(text.substr(at, end + 1 - at));
    at = end + 1;
  }
  return out;
}

}  // namespace preflight
