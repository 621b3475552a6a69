// SPDX-License-Identifier: MIT
#include "agent/facts/command_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/formats/bls.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr const char* kernel_cmdline_path = "/etc/kernel/cmdline";
constexpr const char* default_grub_path = "/etc/default/grub";
constexpr const char* grubenv_path = "/boot/grub2/grubenv";

std::size_t offset_of_line(std::string_view text, int line) {
  std::size_t offset = 0;
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n', offset);
    if (end == std::string_view::npos) return text.size();
    offset = end + 1;
  }
  return offset;
}

std::optional<CommandLineText> entry_text(const BootEntry& entry, const std::string& file) {
  const BlsFile parsed = parse_bls(file);
  const BlsField* options = parsed.find("options");
  if (!options) return std::nullopt;
  const std::size_t offset = file.find(options->value, offset_of_line(file, options->line));
  if (offset == std::string::npos) return std::nullopt;
  return CommandLineText{
      CommandLineSource::entry, entry.path, entry.id, file, options->line, offset,
      options->value.size()};
}

/// /etc/kernel/cmdline is one line; more are joined by 20-grub.install, so each is taken.
std::vector<CommandLineText> kernel_cmdline_texts(const std::string& file) {
  std::vector<CommandLineText> texts;
  std::size_t offset = 0;
  int number = 0;
  for (const std::string_view line : split_lines(file)) {
    ++number;
    if (!trim(line).empty() && trim(line).front() != '#')
      texts.push_back({CommandLineSource::kernel_cmdline, kernel_cmdline_path, "", file, number,
                       offset, line.size()});
    offset += line.size() + 1;
  }
  return texts;
}

std::vector<CommandLineText> grubenv_texts(const std::string& file) {
  constexpr std::string_view name = "kernelopts=";
  std::vector<CommandLineText> texts;
  std::size_t offset = 0;
  int number = 0;
  for (const std::string_view line : split_lines(file)) {
    ++number;
    if (line.starts_with(name))
      texts.push_back({CommandLineSource::grubenv, grubenv_path, "", file, number,
                       offset + name.size(), line.size() - name.size()});
    offset += line.size() + 1;
  }
  return texts;
}

/// The span of a value that is one word for the shell; nullopt for what only a shell can tell.
std::optional<std::pair<std::size_t, std::size_t>> word_span(std::string_view value) {
  const char quote = value.empty() ? '\0' : value.front();
  const bool quoted = quote == '"' || quote == '\'';
  const std::size_t start = quoted ? 1 : 0;
  const std::size_t end = quoted ? value.find(quote, 1) : value.find_first_of(" \t#;");
  if (quoted && end == std::string_view::npos) return std::nullopt;
  const std::size_t stop = end == std::string_view::npos ? value.size() : end;
  const std::string_view inside = value.substr(start, stop - start);
  if (quote != '\'' && inside.find_first_of("$`\\\"'") != std::string_view::npos)
    return std::nullopt;
  return std::pair{start, inside.size()};
}

void add_file(const Guest& guest, const char* path, CommandLines& lines,
              std::vector<CommandLineText> (*find)(const std::string&)) {
  Result<std::string> file = guest.root.read(path);
  if (!file) {
    if (file.error().kind != ErrorKind::missing) lines.errors.push_back(file.error());
    return;
  }
  for (CommandLineText& text : find(*file)) lines.texts.push_back(std::move(text));
}

}  // namespace

std::vector<CommandLineText> find_grub_cmdlines(const std::string& path, const std::string& text) {
  std::vector<CommandLineText> texts;
  std::size_t offset = 0;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::size_t blank = std::min(line.find_first_not_of(" \t"), line.size());
    for (const std::string_view name : {"GRUB_CMDLINE_LINUX=", "GRUB_CMDLINE_LINUX_DEFAULT="}) {
      if (!line.substr(blank).starts_with(name)) continue;
      const std::size_t start = blank + name.size();
      if (const auto span = word_span(line.substr(start)))
        texts.push_back({CommandLineSource::default_grub, path, "", text, number,
                         offset + start + span->first, span->second});
    }
    offset += line.size() + 1;
  }
  return texts;
}

bool CommandLines::has_text_in(std::string_view path) const {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const CommandLineText& text) { return text.path == path; });
}

CommandLines collect_command_lines(const Guest& guest, const Result<BootMenu>& menu) {
  CommandLines lines;
  if (menu) {
    for (const BootEntry& entry : menu->entries) {
      const Result<std::string> file = guest.root.read(entry.path);
      if (!file) {
        lines.errors.push_back(file.error());
      } else if (auto text = entry_text(entry, *file)) {
        lines.texts.push_back(std::move(*text));
      }
    }
  }
  add_file(guest, kernel_cmdline_path, lines, kernel_cmdline_texts);
  add_file(guest, default_grub_path, lines,
           [](const std::string& file) { return find_grub_cmdlines(default_grub_path, file); });
  add_file(guest, grubenv_path, lines, grubenv_texts);
  return lines;
}

}  // namespace preflight
