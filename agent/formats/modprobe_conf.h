// SPDX-License-Identifier: MIT
// modprobe.d(5) as libkmod reads it: v25 (EL 8), v28 (EL 9) and v31 (EL 10) agree on all of this
// (kmod-project/kmod libkmod/libkmod-config.c and shared/util.c).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/image.h"

namespace preflight {

/// One line of a modprobe.d file that bears on which modules are loaded. `options` lines do not.
struct ModprobeDirective {
  enum class Kind { alias, blacklist, install, remove, softdep };
  Kind kind = Kind::blacklist;
  std::string name;   // alias: the pattern; install and softdep: a module or a pattern of modules;
                      // dashes outside of brackets are underscores
  std::string value;  // alias: the module; install, remove: the command; softdep: what follows
  std::string text;   // the line, continuation lines joined
  std::string path;   // the file, as it was given
  int line = 0;       // 1-based; of a continued line the first
};

/// The directives of one file, in its order. Lines that libkmod ignores are left out: comments
/// ('#' counts in the first column alone), unknown words, missing fields, unbalanced brackets.
std::vector<ModprobeDirective> parse_modprobe_conf(const std::string& path, std::string_view text);

/// Dashes to underscores outside of "[...]"; nullopt where libkmod's underscores() refuses a name.
std::optional<std::string> kmod_name(std::string_view name);

/// The modules that a softdep line names, before and after alike.
std::vector<std::string> softdep_modules(std::string_view value);

/// The configuration that libkmod reads inside an image, every file's directives in its order.
struct ModprobeConf {
  std::vector<ModprobeDirective> directives;  // paths are those inside the image
  std::vector<std::string> unread;            // files that count and whose content is not at hand
};

/// `module_directory` (of the image) is where modules.softdep lies. /run/modprobe.d of the image is
/// not read: systemd mounts a tmpfs over it. `with_usr_local` as v31 and later have it.
ModprobeConf read_modprobe_conf(const Image& image, const std::string& module_directory,
                                bool with_usr_local);

}  // namespace preflight
