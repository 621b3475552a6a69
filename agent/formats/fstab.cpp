// SPDX-License-Identifier: MIT
#include "agent/formats/fstab.h"

#include <algorithm>

#include "agent/formats/text.h"

namespace preflight {

namespace {

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

/// "\040" -> " ": the escapes that fstab(5) uses for blanks in names.
std::string decode_octal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                        is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(static_cast<unsigned char>(
        (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
    i += 3;
  }
  return out;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

struct Field {
  std::size_t offset = 0;
  std::string_view text;
};

/// Fields between blanks, each with its offset in the file.
std::vector<Field> fields_of(std::string_view line, std::size_t line_offset) {
  std::vector<Field> fields;
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) return fields;
    const std::size_t start = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    fields.push_back({line_offset + start, line.substr(start, at - start)});
  }
}

/// strtol() on fs_freq and fs_passno: a number, and nothing but blanks behind it unless it is last.
bool is_number(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool starts_with_digits(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

/// Whether libmount takes the fifth and sixth fields: each must be a number; what follows the
/// number within the last field present makes the line malformed.
bool numbers_are_fine(const std::vector<Field>& fields) {
  for (std::size_t i = 4; i < std::min<std::size_t>(fields.size(), 6); ++i) {
    std::string_view text = fields[i].text;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (!starts_with_digits(text) || !is_number(text)) return false;
  }
  return true;
}

/// Calls `take` for each line that is neither blank nor a comment.
template <class Take>
void for_each_entry(std::string_view text, bool cut_return, const Take& take) {
  std::size_t offset = 0;
  int number = 0;
  for (std::string_view line : split_lines(text)) {
    ++number;
    const std::size_t start = offset;
    offset += line.size() + 1;
    if (cut_return && !line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::vector<Field> fields = fields_of(line, start);
    if (fields.empty() || fields.front().text.front() == '#') continue;
    take(number, fields);
  }
}

std::string text_at(const std::vector<Field>& fields, std::size_t index) {
  return index < fields.size() ? decode_octal(fields[index].text) : std::string();
}

/// crypttab(5): swap and tmp format the device after opening it, plain has no header, and a random
/// key makes what was there before unreadable.
bool is_made_anew(const DeviceLine& line) {
  for (const char* key : {"/dev/urandom", "/dev/random", "/dev/hw_random", "/dev/hwrng"})
    if (line.type == key) return true;
  const std::vector<std::string_view> options = split_at(line.options, ',');
  return std::any_of(options.begin(), options.end(), [](std::string_view option) {
    return option == "swap" || option == "plain" || option == "tmp" || option.starts_with("tmp=");
  });
}

}  // namespace

bool DeviceLine::has_option(std::string_view option) const {
  const std::vector<std::string_view> all = split_at(options, ',');
  return std::find(all.begin(), all.end(), option) != all.end();
}

bool DeviceLine::is_set(std::string_view option, std::string_view opposite) const {
  const std::vector<std::string_view> all = split_at(options, ',');
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](std::string_view word) {
    return word == option || word == opposite;
  });
  return last != all.rend() && *last == option;
}

DeviceTable parse_fstab(std::string path, std::string text) {
  DeviceTable table{std::move(path), std::move(text), {}, {}};
  for_each_entry(table.text, false, [&](int number, const std::vector<Field>& fields) {
    if (fields.size() < 3 || !numbers_are_fine(fields))
      table.notes.push_back({ErrorKind::malformed, table.path, number,
                             fields.size() < 2 ? "not an fstab line: it has one field"
                                               : "mount(8) skips this line, systemd does not"});
    if (fields.size() < 2) return;
    table.lines.push_back({number, text_at(fields, 0), text_at(fields, 1), text_at(fields, 2),
                           text_at(fields, 3), fields[0].offset, fields[0].text.size()});
  });
  return table;
}

DeviceTable parse_crypttab(std::string path, std::string text) {
  DeviceTable table{std::move(path), std::move(text), {}, {}};
  for_each_entry(table.text, true, [&](int number, const std::vector<Field>& fields) {
    if (fields.size() < 2) {
      table.notes.push_back(
          {ErrorKind::malformed, table.path, number, "not a crypttab line: systemd skips it"});
      return;
    }
    // systemd takes the fields as they stand: no octal escapes here.
    const auto raw = [&](std::size_t i) {
      return i < fields.size() ? std::string(fields[i].text) : std::string();
    };
    table.lines.push_back(
        {number, raw(1), raw(0), raw(2), raw(3), fields[1].offset, fields[1].text.size()});
    table.lines.back().made_anew = is_made_anew(table.lines.back());
  });
  return table;
}

}  // namespace preflight
