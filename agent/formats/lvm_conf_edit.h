// SPDX-License-Identifier: MIT
// Changes one setting in LVM's configuration text and leaves every other byte alone.
#pragma once

#include <string>
#include <string_view>

#include "agent/formats/lvm_conf.h"

namespace preflight {

/// Whether two texts mean the same but for one setting (and the section that it brings along).
bool differ_only_in(const LvmConf& before, const LvmConf& after, std::string_view setting);

/// The text with `section/name = value`. Where the setting is written, the value of the place that
/// counts is replaced; else a line is added: behind a comment that shows the setting inside the
/// section, behind the section's opening, or as a section of its own at the end. The result is
/// parsed again and differs in that setting alone. A setting that has the value already leaves the
/// text as it is.
/// Errors: unsupported (no edit could be proved), malformed (`value` is none).
Result<std::string> set_lvm_value(const LvmConf& conf, std::string_view section,
                                  std::string_view name, std::string_view value);

/// Whether a comment shows the setting as an example ("# use_devicesfile = 1"), as lvm.conf's
/// templates do. `comment` begins with its '#'.
bool shows_setting(std::string_view comment, std::string_view name);

}  // namespace preflight
