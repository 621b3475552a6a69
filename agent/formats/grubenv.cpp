// SPDX-License-Identifier: MIT
#include "agent/formats/grubenv.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

/// The lines in order, each with its newline; a comment's name is empty. A name that comes twice,
/// or text behind the padding, is for nobody to edit.
struct Lines {
  std::vector<std::pair<std::string, std::string>> assignments;  // name, whole line
  bool plain = true;

  const std::string* find(std::string_view name) const {
    for (const auto& [other, line] : assignments)
      if (other == name) return &line;
    return nullptr;
  }
};

Lines lines_of(std::string_view text) {
  Lines lines;
  std::size_t at = signature.size();
  while (at < text.size()) {
    const std::size_t equals = text[at] == '#' ? at : text.find('=', at);
    const std::size_t end = equals == std::string_view::npos ? equals : end_of_line(text, equals);
    if (end == std::string_view::npos) break;
    std::string name(text.substr(at, equals - at));
    lines.plain =
        lines.plain && (name.empty() || !lines.find(name)) && name.find('\n') == std::string::npos;
    lines.assignments.emplace_back(std::move(name), text.substr(at, end + 1 - at));
    at = end + 1;
  }
  lines.plain = lines.plain && text.find_first_not_of('#', at) == std::string_view::npos;
  return lines;
}

bool same_line(const std::string* a, const std::string* b) {
  return a && b ? *a == *b : a == b;
}

/// False when the variable is there as neither of the two has it.
bool put_back(const std::string& name, const Lines& original, const Lines& placed, Lines& now) {
  const std::string* const wanted = original.find(name);
  if (same_line(now.find(name), wanted)) return true;
  if (!same_line(now.find(name), placed.find(name))) return false;
  std::erase_if(now.assignments,
                [&](const auto& one) { return one.first == name && wanted == nullptr; });
  for (auto& [other, line] : now.assignments)
    if (other == name) line = *wanted;
  if (wanted && !now.find(name)) now.assignments.emplace_back(name, *wanted);
  return true;
}

}  // namespace

std::optional<std::string> put_variables_back(std::string_view original, std::string_view placed,
                                              std::string_view now) {
  for (const std::string_view text : {original, placed, now})
    if (!parse_grubenv("", text)) return std::nullopt;
  const Lines before = lines_of(original);
  const Lines after = lines_of(placed);
  Lines out = lines_of(now);
  if (!before.plain || !after.plain || !out.plain) return std::nullopt;
  for (const auto* lines : {&before, &after})
    for (const auto& [name, line] : lines->assignments)
      if (!name.empty() && !same_line(before.find(name), after.find(name)) &&
          !put_back(name, before, after, out))
        return std::nullopt;
  std::string text(signature);
  for (const auto& [name, line] : out.assignments) text += line;
  if (text.size() > now.size()) return std::nullopt;
  text.resize(now.size(), '#');
  return text;
}

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
