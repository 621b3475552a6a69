// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "agent/step.h"

namespace preflight {

/// Every fix, in the order its steps are carried out: configuration first, then what is built from
/// it.
std::span<const Fix> all_fixes();

/// The same, but images that are made for this very hardware stay so and get nvme by name.
std::span<const Fix> fixes_that_keep_hostonly();

}  // namespace preflight
