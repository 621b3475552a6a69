// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "agent/guest/root.h"

namespace preflight {

/// The guest under examination. `live` is true when its root is this process's own root: only then
/// may its programs be asked (lvmconfig, bash) and its devices be probed through /sys and /dev.
struct Guest {
  Root root;
  std::string path;  // as given with --root; "/" live
  bool live = false;
  bool privileged = false;                // effective uid 0
  std::optional<std::string> lsblk_file;  // host path given with --lsblk
};

}  // namespace preflight
