// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "agent/facts/boot.h"

namespace preflight {

/// The menu with the entries of `kernel` in the default's place. Error missing: no entry boots it.
Result<BootMenu> with_default_kernel(BootMenu menu, const std::string& kernel);

}  // namespace preflight
