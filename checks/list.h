// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "agent/check.h"

namespace preflight {

/// Every check, in boot order.
std::span<const Check> all_checks();

}  // namespace preflight
