// SPDX-License-Identifier: MIT
// Every place that writes a kernel command line, as text with its span: the entries of today, and
// what the entry of the next kernel is made from.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/boot.h"
#include "agent/guest/guest.h"

namespace preflight {

enum class CommandLineSource {
  entry,           // the first `options` line of a boot loader entry
  kernel_cmdline,  // /etc/kernel/cmdline: kernel-install writes it into new entries
  default_grub,    // GRUB_CMDLINE_LINUX* of /etc/default/grub: grub2-mkconfig uses it
  grubenv,         // kernelopts of grubenv: EL 8's entries say $kernelopts
};

struct CommandLineText {
  CommandLineSource source = CommandLineSource::entry;
  std::string path;
  std::string entry;  // of an entry: its id
  // The file's whole text, one for all its command lines: a hostile file can hold half a million.
  std::shared_ptr<const std::string> file;
  int line = 0;            // 1-based
  std::size_t offset = 0;  // byte span of the command line in `file`
  std::size_t length = 0;

  std::string_view text() const { return std::string_view(*file).substr(offset, length); }
};

struct CommandLines {
  std::vector<CommandLineText> texts;
  std::vector<Error> errors;  // files that are there and cannot be read

  /// Whether a command line is written in that file, with a span that can be edited.
  bool has_text_in(std::string_view path) const;
};

CommandLines collect_command_lines(const Guest& guest, const Result<BootMenu>& menu);

/// Far more command lines than any one file has a use for.
inline constexpr std::size_t command_lines_cap = 100;

/// The command lines in a file of that kind, `command_lines_cap` + 1 at most. An entry has one, its
/// first `options` line; grubenv has one, the kernelopts that GRUB reads. Of /etc/default/grub: the
/// assignments to GRUB_CMDLINE_LINUX and GRUB_CMDLINE_LINUX_DEFAULT that are one quoted (or bare)
/// word without shell expansions. Pure.
std::vector<CommandLineText> find_command_lines(CommandLineSource source, const std::string& path,
                                                std::string text);

}  // namespace preflight
