// SPDX-License-Identifier: MIT
#include "agent/formats/modprobe_conf.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

namespace preflight {

namespace {

using Kind = ModprobeDirective::Kind;

constexpr std::string_view blanks = "\t ";

struct LogicalLine {
  std::string text;
  int line = 0;
};

/// freadline_wrapped() of shared/util.c: a backslash before a newline joins the lines; any other
/// backslash is dropped. What follows a NUL is not seen, the line being a C string.
std::vector<LogicalLine> logical_lines(std::string_view text) {
  std::vector<LogicalLine> lines;
  int number = 1;
  LogicalLine current{"", 1};
  const auto finish = [&] {
    current.text.resize(std::min(current.text.find('\0'), current.text.size()));
    lines.push_back(std::exchange(current, LogicalLine{"", number}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') {
      ++number;
      finish();
      continue;
    }
    if (c == '\\') {
      // At the end of the file getc() gives EOF, which becomes a byte of the line.
      c = ++i < text.size() ? text[i] : '\xff';
      if (c == '\n') {
        ++number;
        continue;
      }
    }
    current.text += c;
  }
  if (!current.text.empty()) finish();
  return lines;
}

/// strtok_r(3) with blanks: the next word, taken off the front of `rest`.
std::string_view take_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(blanks));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return word;
}

std::optional<Kind> kind_of(std::string_view word) {
  if (word == "alias") return Kind::alias;
  if (word == "blacklist") return Kind::blacklist;
  if (word == "install") return Kind::install;
  if (word == "remove") return Kind::remove;
  if (word == "softdep") return Kind::softdep;
  return std::nullopt;
}

std::optional<ModprobeDirective> parse_line(const std::string& path, const LogicalLine& line) {
  if (line.text.empty() || line.text[0] == '#') return std::nullopt;
  std::string_view rest = line.text;
  const std::optional<Kind> kind = kind_of(take_word(rest));
  const std::string_view name = take_word(rest);
  if (!kind || name.empty()) return std::nullopt;
  const std::optional<std::string> canonical = kmod_name(name);
  if (!canonical) return std::nullopt;
  ModprobeDirective directive{*kind, *canonical, "", line.text, path, line.line};
  if (*kind == Kind::alias) {
    const std::string_view module = take_word(rest);
    const std::optional<std::string> target = kmod_name(module);
    if (module.empty() || !target) return std::nullopt;
    directive.value = *target;
  } else if (*kind != Kind::blacklist) {
    if (rest.empty()) return std::nullopt;
    directive.value = rest;
  }
  return directive;
}

/// conf_files_filter_out() of libkmod-config.c. ".alias" went only after v31.
bool is_configuration_name(std::string_view name) {
  return name.size() >= 6 && name[0] != '.' &&
         (name.ends_with(".conf") || name.ends_with(".alias"));
}

// Of all files together. Distributions ship some kilobytes; a directive takes more memory than its
// line.
constexpr std::size_t text_cap = 1u << 20;

void add_file(const Image& image, const std::string& path, std::size_t& text_left,
              ModprobeConf& conf) {
  const ImageFile* const file = image.find(path);
  if (file == nullptr || !S_ISREG(file->mode)) return;
  if (!file->content) {
    if (file->size != 0) conf.unread.push_back(path);
    return;
  }
  if (file->content->size() > text_left) {
    conf.unread.push_back(path);
    return;
  }
  text_left -= file->content->size();
  for (ModprobeDirective& directive : parse_modprobe_conf(path, *file->content))
    conf.directives.push_back(std::move(directive));
}

bool is_directory(const Image& image, const std::string& path) {
  const std::optional<std::string> place = image.resolve(path);
  if (!place) return false;
  const ImageFile* const file = image.find(*place);
  return file == nullptr || S_ISDIR(file->mode);
}

}  // namespace

std::optional<std::string> kmod_name(std::string_view name) {
  std::string out(name);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '-') {
      out[i] = '_';
    } else if (out[i] == ']') {
      return std::nullopt;
    } else if (out[i] == '[') {
      i = out.find(']', i);
      if (i == std::string::npos) return std::nullopt;
    }
  }
  return out;
}

std::vector<ModprobeDirective> parse_modprobe_conf(const std::string& path, std::string_view text) {
  std::vector<ModprobeDirective> directives;
  for (const LogicalLine& line : logical_lines(text))
    if (auto directive = parse_line(path, line)) directives.push_back(std::move(*directive));
  return directives;
}

std::vector<std::string> softdep_modules(std::string_view value) {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  std::vector<std::string> modules;
  bool counts = false;  // words before "pre:" and "post:" do not
  while (true) {
    value.remove_prefix(std::min(value.find_first_not_of(spaces), value.size()));
    if (value.empty()) return modules;
    const std::string_view word = value.substr(0, value.find_first_of(spaces));
    value.remove_prefix(word.size());
    if (word == "pre:" || word == "post:")
      counts = true;
    else if (counts)
      modules.emplace_back(word);
  }
}

ModprobeConf read_modprobe_conf(const Image& image, const std::string& module_directory,
                                bool with_usr_local) {
  std::vector<std::string> directories{"etc/modprobe.d", "lib/modprobe.d"};
  if (with_usr_local) directories.insert(directories.begin() + 1, "usr/local/lib/modprobe.d");
  // Of files with one name the first directory's counts; the order is that of the names alone
  // (conf_files_insert_sorted()).
  std::map<std::string, std::string> files{
      {"modules.softdep", module_directory + "/modules.softdep"}};
  for (const std::string& directory : directories)
    for (const std::string& name : image.list(directory))
      if (is_configuration_name(name) && !is_directory(image, directory + '/' + name))
        files.try_emplace(name, directory + '/' + name);
  ModprobeConf conf;
  std::size_t text_left = text_cap;
  for (const auto& [name, path] : files) add_file(image, path, text_left, conf);
  return conf;
}

}  // namespace preflight
