// SPDX-License-Identifier: MIT
// Boot loader entries as GRUB's blscfg reads them (grub-core/commands/blscfg.c of the rhel-8-main,
// rhel-9-main and rhel-10-main branches), which is not quite what the specification says.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/version_compare.h"

namespace preflight {

struct BlsField {
  std::string key;
  std::string value;
  int line = 0;  // 1-based
};

/// The fields of one entry file, in its order.
struct BlsFile {
  std::vector<BlsField> fields;
  int stopped_line = 0;     // the line that ended the reading early; 0 when it was read to its end
  bool text_after = false;  // there is more than blanks and comments behind that line

  /// The first field with that key, which is the one GRUB takes; nullptr when there is none.
  const BlsField* find(std::string_view key) const;
  std::vector<const BlsField*> find_all(std::string_view key) const;
};

/// read_entry(): blanks before the key are skipped, "#" begins a comment line, the key ends at the
/// line's first space or, only when there is none, at its first tab; a line without such a
/// separator or with nothing behind it (an empty line too) ends the file. Carriage returns are
/// dropped (grub_file_getline()), a NUL ends its line.
BlsFile parse_bls(std::string_view text);

/// The command line that reaches the kernel: blscfg puts the options into a line of script, whose
/// words lose their quotes and backslashes (grub-core/script/yylex.l), and the linux command joins
/// them again, in double quotes where one holds a blank, with backslashes before quotes and
/// backslashes (grub-core/lib/cmdline.c grub_create_loader_cmdline).
std::string grub_command_line(std::string_view options);

/// Whether blscfg looks at a file of that name: "*.conf", not hidden, longer than ".conf".
bool is_bls_file_name(std::string_view name);

/// A variable's value; nullopt when it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// expand_val(): $name is replaced by its value and a blank, one blank behind the name is dropped,
/// an unset variable gives nothing, "\$" is kept as it is (in older builds it was expanded). Like
/// GRUB, it loses a single character that stands alone, and gives nullopt when nothing is left: the
/// caller then falls back to default_kernelopts. Cut at 64 KiB, far beyond what a kernel takes.
std::optional<std::string> expand_bls_value(std::string_view value, const VariableLookup& lookup);

/// Names of the variables that expand_bls_value() would look up, in order.
std::vector<std::string> bls_variables(std::string_view value);

/// Length of the part of a value that reaches the command it is pasted behind: the entry becomes a
/// GRUB script, whose commands end at an unquoted ";", "|", "&" and at a word that begins with "#"
/// (grub-core/script/yylex.l).
std::size_t grub_command_length(std::string_view text);

/// What decides on an entry's place in the menu.
struct BlsSortKey {
  std::string id;  // file name without ".conf"
  std::optional<std::string> version;
};

/// The menu's order: indexes of `keys`, the first being what GRUB shows first. EL 8 sorts by the
/// version fields if every entry has one, then by id; later releases by id alone. A tie keeps the
/// order of `keys`.
std::vector<std::size_t> bls_menu_order(const std::vector<BlsSortKey>& keys, bool el8);

/// Whether GRUB's comparison cannot tell two entries apart. From EL 9 on only the one that it reads
/// first gets into the menu (bls_add_entry()).
bool bls_same_place(const BlsSortKey& a, const BlsSortKey& b, bool el8);

}  // namespace preflight
