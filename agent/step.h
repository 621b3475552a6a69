// SPDX-License-Identifier: MIT
// What a fix wants done, as data. Only the transaction carries it out.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/facts/facts.h"
#include "agent/finding.h"

namespace preflight {

/// Replaces the content of one file, everything else about it kept. `before` is the exact content
/// the plan was made from (nullopt: the file does not exist and is created with `mode`).
struct EditFile {
  std::string path;
  std::optional<std::string> before;
  std::string after;
  mode_t mode = 0644;
};

/// Builds an initramfs with the guest's dracut and puts it in the place of `path`.
struct BuildImage {
  std::string path;    // "/boot/initramfs-K.img"
  std::string kernel;  // the version given to dracut
  bool rescue = false;
};

using Step = std::variant<EditFile, BuildImage>;

/// A fix looks at the findings that name it in `remedy.fix` and says which steps mend them. An
/// error refuses the whole run (exit 4) before anything was changed.
struct Fix {
  std::string_view id;
  Result<std::vector<Step>> (*plan)(const Facts& facts, const std::vector<Finding>& findings);
};

}  // namespace preflight
