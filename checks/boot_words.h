// SPDX-License-Identifier: MIT
// The command line as dracut sees it in the initramfs, with the place of each word.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/facts/facts.h"
#include "agent/finding.h"
#include "agent/formats/cmdline.h"

namespace preflight {

struct BootWord {
  CmdlineWord word;
  std::string path;  // the entry, grubenv, or the image with the file inside it
  int line = 0;

  std::string text() const;  // "root=/dev/vda3"
  Evidence evidence(std::string want) const;
};

/// The words of an entry in the order of dracut's getcmdline (R9 modules.d/99base/dracut-lib.sh):
/// etc/cmdline.d/*.conf and etc/cmdline of the image, then the kernel's own; getarg takes the last
/// of a key. The image's words are left out when the image could not be read.
std::vector<BootWord> boot_words(const Facts& facts, const BootEntry& entry);

/// The image's etc/cmdline.d/*.conf, in the order in which dracut reads them.
std::vector<std::string> command_line_drop_ins(const Image& image);

/// The first of the image's files with such words that is left out because it, or all of them
/// together, are too large; empty when none is.
std::string unread_words(const Image& image);

/// The next kernel's entry as kernel-install will write it from /etc/kernel/cmdline (EL's
/// 20-grub.install), with the default entry's image; empty where that file is not there, or where
/// an entry of today is read from it.
std::optional<BootEntry> next_entry(const Facts& facts);

/// The last word with that key; nullptr when there is none.
const BootWord* last_word(const std::vector<BootWord>& words, std::string_view key);

/// dracut's getargbool: false for 0, no and off, true for anything else, `preset` without the word.
bool bool_word(const std::vector<BootWord>& words, std::string_view key, bool preset);

/// The entry's image; nullptr when it has none or it could not be read.
const Image* image_of(const Facts& facts, const BootEntry& entry);

/// How bad a fault of this entry is: a fail for the default one (for every one when the default is
/// not known), else a warning.
Status fault_status(const BootMenu& menu, const BootEntry& entry);

/// The same for what cannot be told: unknown, else a warning.
Status doubt_status(const BootMenu& menu, const BootEntry& entry);

}  // namespace preflight
