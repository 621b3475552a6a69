// SPDX-License-Identifier: MIT
// The kernel's command line, split as the kernel splits it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight {

/// One parameter. `value` is empty for a word without "=". The kernel's quotes are removed from key
/// and value; `offset` and `length` (bytes) span the word as it is written, quotes included.
struct CmdlineWord {
  std::string key;
  std::optional<std::string> value;
  std::size_t offset = 0;
  std::size_t length = 0;
  bool after_dashes = false;  // behind a word "--"
};

/// The most that any kernel of EL reads of a command line (COMMAND_LINE_SIZE: 4096 on s390x and
/// 2048 on the others); it drops what follows.
inline constexpr std::size_t command_line_size = 4096;

/// Splits as next_arg() of the kernel's lib/cmdline.c: words end at white space outside of double
/// quotes, there is no escape, the first "=" divides. The first word "--" is left out: the kernel
/// stops there (parse_args() of kernel/params.c hands the rest to init), but dracut's getarg, kmod
/// and systemd read /proc/cmdline on their own and do not (dracut-lib.sh _dogetarg(); tried with
/// systemd 252's generators). dracut splits in the shell, where quotes inside of a word stay.
std::vector<CmdlineWord> parse_cmdline(std::string_view text);

/// The words with exactly that key, in order. Keys of dracut and systemd ("rd.lvm.lv", "root") are
/// compared bytewise.
std::vector<CmdlineWord> words_of(const std::vector<CmdlineWord>& words, std::string_view key);

/// The same for a parameter of the kernel or of a module ("nvme_core.multipath"), where "-" and "_"
/// are one character (parameqn() of kernel/params.c); not those behind "--".
std::vector<CmdlineWord> kernel_words_of(const std::vector<CmdlineWord>& words,
                                         std::string_view key);

/// The first or last word with that key; nullptr when there is none.
const CmdlineWord* first_word(const std::vector<CmdlineWord>& words, std::string_view key);
const CmdlineWord* last_word(const std::vector<CmdlineWord>& words, std::string_view key);

/// Keys whose device the boot waits for: root=, resume=, boot= (FIPS mode's), mount.usr=,
/// rootflags= (device= of btrfs), and the lists of luks.*, systemd.mount-extra= and
/// systemd.swap-extra=, with and without "rd." (systemd fstab-generator and cryptsetup-generator,
/// parse_proc_cmdline_item).
bool is_device_key(std::string_view key);

/// Of these keys every word counts; of the others the last.
bool is_list_key(std::string_view key);

/// A `noresume` without a value; with one systemd ignores it (hibernate-resume-generator.c).
bool has_noresume(const std::vector<CmdlineWord>& words);

}  // namespace preflight
