// SPDX-License-Identifier: MIT
#include "agent/facts/boot_default_kernel.h"

#include <fmt/format.h>

#include <cstddef>

namespace preflight {

Result<BootMenu> with_default_kernel(BootMenu menu, const std::string& kernel) {
  menu.default_index.reset();
  for (std::size_t i = 0; i < menu.entries.size(); ++i) {
    BootEntry& entry = menu.entries[i];
    entry.is_default = !entry.rescue && entry.kernel == kernel;
    if (entry.is_default && !menu.default_index) menu.default_index = i;
  }
  if (!menu.default_index)
    return fail(ErrorKind::missing, "/boot/loader/entries",
                fmt::format("no entry boots kernel {}", kernel));
  menu.default_reason = fmt::format("--kernel names {}", kernel);
  menu.bypassed = false;
  return menu;
}

}  // namespace preflight
