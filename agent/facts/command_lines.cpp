// SPDX-License-Identifier: MIT
#include "agent/facts/command_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/formats/bls.h"
#include "agent/formats/grubenv.h"
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

/// The command lines of one file, in its order.
class Finder {
 public:
  Finder(CommandLineSource source, std::string path, std::string text)
      : source_(source),
        path_(std::move(path)),
        file_(std::make_shared<const std::string>(std::move(text))) {}

  const std::string& text() const { return *file_; }

  void add(int line, std::size_t offset, std::size_t length) {
    texts_.push_back({source_, path_, "", file_, line, offset, length});
  }

  /// Calls `look` with each line, its number and its offset.
  template <class Look>
  void each_line(const Look& look) {
    std::size_t offset = 0;
    int number = 0;
    while (offset < file_->size() && texts_.size() <= command_lines_cap) {
      const std::size_t end = std::min(file_->find('\n', offset), file_->size());
      look(std::string_view(*file_).substr(offset, end - offset), ++number, offset);
      offset = end + 1;
    }
  }

  std::vector<CommandLineText> take() { return std::move(texts_); }

 private:
  CommandLineSource source_;
  std::string path_;
  std::shared_ptr<const std::string> file_;
  std::vector<CommandLineText> texts_;
};

void find_in_entry(Finder& finder) {
  const BlsFile parsed = parse_bls(finder.text());
  const BlsField* options = parsed.find("options");
  if (!options) return;
  const std::size_t offset =
      finder.text().find(options->value, offset_of_line(finder.text(), options->line));
  if (offset != std::string::npos) finder.add(options->line, offset, options->value.size());
}

/// /etc/kernel/cmdline is one line; more are joined by 20-grub.install, so each is taken.
void find_in_kernel_cmdline(Finder& finder) {
  finder.each_line([&](std::string_view line, int number, std::size_t offset) {
    if (!trim(line).empty() && trim(line).front() != '#') finder.add(number, offset, line.size());
  });
}

void find_in_grubenv(Finder& finder) {
  const Result<GrubEnvironment> environment = parse_grubenv("", finder.text());
  const auto* options = environment ? environment->find("kernelopts") : nullptr;
  if (options) finder.add(options->line, options->offset, options->length);
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

void find_in_default_grub(Finder& finder) {
  finder.each_line([&](std::string_view line, int number, std::size_t offset) {
    const std::size_t blank = std::min(line.find_first_not_of(" \t"), line.size());
    for (const std::string_view name : {"GRUB_CMDLINE_LINUX=", "GRUB_CMDLINE_LINUX_DEFAULT="}) {
      if (!line.substr(blank).starts_with(name)) continue;
      const std::size_t start = blank + name.size();
      if (const auto span = word_span(line.substr(start)))
        finder.add(number, offset + start + span->first, span->second);
    }
  });
}

void add_file(const Guest& guest, CommandLineSource source, const std::string& path,
              CommandLines& lines, const std::string& entry = "") {
  Result<std::string> file = guest.root.read(path);
  if (!file) {
    if (!entry.empty() || file.error().kind != ErrorKind::missing)
      lines.errors.push_back(file.error());
    return;
  }
  std::vector<CommandLineText> texts = find_command_lines(source, path, std::move(*file));
  if (texts.size() > command_lines_cap) {
    lines.errors.push_back({ErrorKind::too_large, path, 0,
                            fmt::format("holds more than {} command lines", command_lines_cap)});
    return;
  }
  for (CommandLineText& text : texts) {
    text.entry = entry;
    lines.texts.push_back(std::move(text));
  }
}

}  // namespace

std::vector<CommandLineText> find_command_lines(CommandLineSource source, const std::string& path,
                                                std::string text) {
  Finder finder(source, path, std::move(text));
  switch (source) {
    case CommandLineSource::entry:
      find_in_entry(finder);
      break;
    case CommandLineSource::kernel_cmdline:
      find_in_kernel_cmdline(finder);
      break;
    case CommandLineSource::default_grub:
      find_in_default_grub(finder);
      break;
    case CommandLineSource::grubenv:
      find_in_grubenv(finder);
      break;
  }
  return finder.take();
}

bool CommandLines::has_text_in(std::string_view path) const {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const CommandLineText& text) { return text.path == path; });
}

CommandLines collect_command_lines(const Guest& guest, const Result<BootMenu>& menu) {
  CommandLines lines;
  if (menu) {
    for (const BootEntry& entry : menu->entries)
      add_file(guest, CommandLineSource::entry, entry.path, lines, entry.id);
  }
  add_file(guest, CommandLineSource::kernel_cmdline, kernel_cmdline_path, lines);
  add_file(guest, CommandLineSource::default_grub, default_grub_path, lines);
  add_file(guest, CommandLineSource::grubenv, grubenv_path, lines);
  return lines;
}

}  // namespace preflight
