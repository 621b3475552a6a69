// SPDX-License-Identifier: MIT
// Names of drop-ins: their order and which of them are read.
#include <algorithm>
#include <cstddef>

#include "agent/formats/dracut_conf.h"

namespace preflight {

namespace {

// The C locale's classes: the guest's LC_ALL=C decides, never our own locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool is_suffix_start(char c) {
  return is_alpha(c) || c == '~';
}
bool is_suffix_char(char c) {
  return is_alpha(c) || is_digit(c) || c == '~';
}

/// Length of `name` without its file suffix (\.[A-Za-z~][A-Za-z0-9~]*)*$ ; at least 1.
std::size_t stem_length(std::string_view name) {
  std::size_t at = 0;
  while (at < name.size()) {
    const std::size_t stem = ++at;
    while (at + 1 < name.size() && name[at] == '.' && is_suffix_start(name[at + 1])) {
      at += 2;
      while (at < name.size() && is_suffix_char(name[at])) ++at;
    }
    if (at >= name.size()) return stem;
  }
  return name.size();
}

/// The same before coreutils 9.1, whose scanner looks at every character once: after a dot that
/// does not start a suffix it does not consider the next dot ("a..conf" has no suffix).
std::size_t old_stem_length(std::string_view name) {
  std::size_t stem = name.size();
  bool after_dot = false;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (after_dot) {
      after_dot = false;
      if (!is_suffix_start(c)) stem = name.size();
    } else if (c == '.') {
      after_dot = true;
      if (stem == name.size()) stem = at;
    } else if (!is_suffix_char(c)) {
      stem = name.size();
    }
  }
  return stem;
}

/// Weight of the character at `at`, or of the end: '~', then the end, then letters, then the rest.
/// A digit ends the part that is compared by weight.
int weight(std::string_view text, std::size_t at, VersionSort sort) {
  const bool old = sort == VersionSort::before_9_1;
  if (at >= text.size()) return old ? 0 : -1;
  const char c = text[at];
  if (is_digit(c)) return 0;
  if (c == '~') return old ? -1 : -2;
  const int code = static_cast<unsigned char>(c);
  return is_alpha(c) ? code : code + 256;
}

/// Compares the numbers at the positions and moves behind them.
int compare_numbers(std::string_view a, std::size_t& i, std::string_view b, std::size_t& j) {
  while (i < a.size() && a[i] == '0') ++i;
  while (j < b.size() && b[j] == '0') ++j;
  int first_difference = 0;
  while (i < a.size() && j < b.size() && is_digit(a[i]) && is_digit(b[j])) {
    if (first_difference == 0) first_difference = a[i] - b[j];
    ++i;
    ++j;
  }
  if (i < a.size() && is_digit(a[i])) return 1;
  if (j < b.size() && is_digit(b[j])) return -1;
  return first_difference;
}

int compare_parts(std::string_view a, std::string_view b, VersionSort sort) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    while ((i < a.size() && !is_digit(a[i])) || (j < b.size() && !is_digit(b[j]))) {
      const int difference = weight(a, i, sort) - weight(b, j, sort);
      if (difference != 0) return difference;
      ++i;
      ++j;
    }
    if (const int difference = compare_numbers(a, i, b, j); difference != 0) return difference;
  }
  return 0;
}

int compare_before_9_1(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  std::string_view a_part = a.substr(0, old_stem_length(a));
  std::string_view b_part = b.substr(0, old_stem_length(b));
  if (a_part == b_part) {
    a_part = a;
    b_part = b;
  }
  const int result = compare_parts(a_part, b_part, VersionSort::before_9_1);
  return result != 0 ? result : a.compare(b);
}

bool is_drop_in_name(std::string_view name) {
  return name.size() > 5 && name.front() != '.' && name.ends_with(".conf");
}

/// What the shell's word splitting and pathname expansion make of a listed path.
enum class Spelling { plain, split, pattern };

Spelling spelling(std::string_view path) {
  if (path.find_first_of(" \t\n") != std::string_view::npos) return Spelling::split;
  return path.find_first_of("*?[\\") != std::string_view::npos ? Spelling::pattern
                                                               : Spelling::plain;
}

bool has_name(const DropInDirectory& directory, std::string_view name) {
  return std::find(directory.names.begin(), directory.names.end(), name) != directory.names.end();
}

/// All names, sorted; those `sort -u` takes for equal are dropped but the first listed.
std::vector<std::string> merged_names(std::span<const DropInDirectory> directories,
                                      VersionSort sort) {
  std::vector<std::string> names;
  for (const DropInDirectory& directory : directories) {
    std::vector<std::string> own;
    for (const std::string& name : directory.names)
      if (is_drop_in_name(name)) own.push_back(name);
    std::sort(own.begin(), own.end());
    names.insert(names.end(), own.begin(), own.end());
  }
  const auto before = [sort](const std::string& a, const std::string& b) {
    return compare_versions(a, b, sort) < 0;
  };
  const auto equal = [sort](const std::string& a, const std::string& b) {
    return compare_versions(a, b, sort) == 0;
  };
  std::stable_sort(names.begin(), names.end(), before);
  names.erase(std::unique(names.begin(), names.end(), equal), names.end());
  return names;
}

/// The name's first word is the start of a path that the shell would look for.
bool splits_into_existing(const DropInDirectory& directory, std::string_view name) {
  const std::string_view first = name.substr(0, name.find_first_of(" \t\n"));
  return !first.empty() && has_name(directory, first);
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b, VersionSort sort) {
  if (sort == VersionSort::before_9_1) return compare_before_9_1(a, b);
  const std::size_t a_stem = stem_length(a);
  const std::size_t b_stem = stem_length(b);
  const int result = compare_parts(a.substr(0, a_stem), b.substr(0, b_stem), sort);
  if (result != 0 || (a_stem == a.size() && b_stem == b.size())) return result;
  return compare_parts(a, b, sort);
}

Result<DropInOrder> order_drop_ins(std::span<const DropInDirectory> directories, VersionSort sort) {
  DropInOrder order;
  for (const std::string& name : merged_names(directories, sort)) {
    const auto winner =
        std::find_if(directories.begin(), directories.end(),
                     [&](const DropInDirectory& directory) { return has_name(directory, name); });
    const std::string path = winner->path + '/' + name;
    switch (spelling(name)) {
      case Spelling::plain:
        order.paths.push_back(path);
        break;
      case Spelling::pattern:
        return fail(ErrorKind::unsupported, path,
                    "its name has characters that dracut's shell takes for a pattern");
      case Spelling::split:
        if (splits_into_existing(*winner, name))
          return fail(ErrorKind::unsupported, path,
                      "its name has blanks, and the part before them is another file");
        order.notes.push_back({ErrorKind::malformed, path, 0,
                               "dracut never reads it: its name has blanks, at which dracut's "
                               "shell splits the list of files"});
        break;
    }
  }
  return order;
}

std::vector<DracutFile> with_drop_in(std::vector<DracutFile> files, const DracutFile& drop_in) {
  const auto base = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
  const std::string_view name = base(drop_in.path);
  const auto is_drop_in = [](const DracutFile& file) { return file.path != "/etc/dracut.conf"; };
  for (DracutFile& file : files)
    if (is_drop_in(file) && base(file.path) == name) {
      file = drop_in;
      return files;
    }
  const auto after = std::find_if(files.begin(), files.end(), [&](const DracutFile& file) {
    return is_drop_in(file) && compare_versions(base(file.path), name) > 0;
  });
  files.insert(after, drop_in);
  return files;
}

}  // namespace preflight
