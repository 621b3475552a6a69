// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "agent/check.h"

namespace preflight {

/// Every check, in boot order.
std::span<const Check> all_checks();

/// What --verify runs once the disk is NVMe: the `after.` checks, then those of the next boot.
std::span<const Check> after_switch_checks();

}  // namespace preflight
