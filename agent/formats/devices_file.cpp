// SPDX-License-Identifier: MIT
#include "agent/formats/devices_file.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <optional>
#include <utility>

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::size_t pvid_length = 32;  // ID_LEN; what is longer is cut (strdup_pvid)

/// The value behind the first occurrence of a field's name, wherever that is: from the next '=' to
/// the next space. "." stands for none.
std::string field(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return {};
  const std::size_t equals = line.find('=', at);
  if (equals == std::string_view::npos) return {};
  const std::size_t begin = line.find_first_not_of(' ', equals + 1);
  if (begin == std::string_view::npos) return {};
  const std::string_view value = line.substr(begin, line.find(' ', begin) - begin);
  return value.substr(0, 1) == "." ? std::string() : std::string(value);
}

int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_header(std::string_view line) {
  for (const std::string_view word : {"#", "SYSTEMID", "HOSTNAME", "PRODUCT_UUID", "VERSION"})
    if (line.substr(0, word.size()) == word) return true;
  return false;
}

std::optional<DevicesEntry> entry_of(std::string_view line, int number) {
  if (is_header(line)) return std::nullopt;
  for (const std::string_view name : {"IDTYPE", "IDNAME"})
    if (line.find(name) == std::string_view::npos) return std::nullopt;
  DevicesEntry entry;
  entry.line = number;
  entry.idtype = field(line, "IDTYPE");
  entry.idname = field(line, "IDNAME");
  entry.devname = field(line, "DEVNAME");
  entry.pvid = field(line, "PVID").substr(0, pvid_length);
  entry.part = number_of(field(line, "PART"));
  return entry;
}

}  // namespace

DevicesFile parse_devices_file(std::string path, std::string_view text) {
  // fgets() into PATH_MAX bytes: a longer line is taken as several, and a NUL ends one.
  constexpr std::size_t piece = PATH_MAX - 1;
  DevicesFile out;
  out.path = std::move(path);
  out.text = text;
  int number = 0;
  for (std::string_view line : split_lines(text)) {
    ++number;
    do {
      const std::string_view part = line.substr(0, piece);
      if (auto entry = entry_of(part.substr(0, part.find('\0')), number))
        out.entries.push_back(std::move(*entry));
      line.remove_prefix(part.size());
    } while (!line.empty());
  }
  return out;
}

bool is_devices_file_name(std::string_view name) {
  constexpr std::size_t name_cap = 127;  // NAME_LEN with its NUL
  if (name.empty() || name.size() > name_cap || name[0] == '-' || name == "." || name == "..")
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+").find(c) != std::string_view::npos;
  });
}

}  // namespace preflight
