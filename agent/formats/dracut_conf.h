// SPDX-License-Identifier: MIT
// dracut's configuration as dracut.sh comes to it: which files are sourced, in which order, and
// what plain assignments in them add up to. Pure: names and texts come in, values go out.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/result.h"

namespace preflight {

/// One assignment that took part in a variable's value.
struct Assignment {
  std::string path;
  int line = 0;         // 1-based; 0 when only the file is known
  bool append = false;  // +=
  std::string value;    // the right-hand side after quote removal and expansion
  bool padded = true;   // += with blanks on both sides of the value, or nothing to fuse with
};

struct DracutVariable {
  std::string value;
  std::vector<Assignment> assignments;  // in the order they took effect
};

using DracutVariables = std::map<std::string, DracutVariable, std::less<>>;

/// A file dracut sources. `masked`: the name leads to /dev/null, so that nothing is read.
struct DracutFile {
  std::string path;
  std::string text;
  bool masked = false;
};

/// GNU `sort -V` changed its comparison with coreutils 9.1 (EL 8 has 8.30, EL 9 has 8.32, EL 10 has
/// 9.5): since then names that differ only in leading zeros are equal.
enum class VersionSort { before_9_1, since_9_1 };

/// Compares two names as `LC_ALL=C sort -V` does: negative, 0 or positive. Both start with another
/// byte than '.' (GNU coreutils manual, "Version sort ordering"; gnulib lib/filevercmp.c before and
/// after the change).
int compare_versions(std::string_view a, std::string_view b,
                     VersionSort sort = VersionSort::since_9_1);

/// A drop-in directory and the names in it that exist ([[ -e ]], links followed).
struct DropInDirectory {
  std::string path;
  std::vector<std::string> names;
};

struct DropInOrder {
  std::vector<std::string> paths;  // in the order dracut sources them
  std::vector<Error> notes;        // files that are never read
};

/// The drop-ins of several directories as dracut.sh's dropindirs_sort lists them: names that end in
/// ".conf" and do not start with a dot, over all directories by `sort -Vu`, the first directory
/// that has a name wins; names with blanks do not survive the word splitting of its caller (R8
/// dracut.sh:288-313, R9:350-374, R10:348-373). Errors: unsupported (a name that the shell would
/// take for a pattern, or that splits into a file that exists).
Result<DropInOrder> order_drop_ins(std::span<const DropInDirectory> directories, VersionSort sort);

/// `files` (in sourcing order, /etc/dracut.conf first if it is there) with one drop-in replaced or
/// added where its name sorts.
std::vector<DracutFile> with_drop_in(std::vector<DracutFile> files, const DracutFile& drop_in);

struct DracutEvaluation {
  DracutVariables variables;
  std::vector<Error> notes;  // lines that do nothing, or not what they seem to
};

/// What bash makes of the files, sourced one after the other, as long as they hold nothing but
/// plain assignments (name=value, name+=value; quotes, continuation lines, $name of a variable that
/// is known) and mistyped ones that bash takes for commands (name = value), which change nothing. A
/// quote that is never closed ends its file: what stood before stays.
/// Errors: unsupported (anything else, with file and line), malformed (a line on which dracut
/// itself would not go on).
Result<DracutEvaluation> evaluate_dracut_conf(const std::vector<DracutFile>& files);

/// Makes one assignment, keeping the account of fused words. `assignment.padded` is set here.
void assign(DracutVariables& variables, std::string_view name, Assignment assignment);

/// Whether dracut.sh or its modules read a configuration variable of this name (dracut.conf(5)).
/// Such a variable is empty, not unknown, before the first assignment.
bool is_dracut_setting(std::string_view name);

/// A value as a bash word in double quotes.
std::string double_quoted(std::string_view value);

}  // namespace preflight
