// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "agent/step.h"

namespace preflight {

/// One step per file: two fixes that edit the same file each begin from its text as it is, and
/// their edits are laid over each other. Error (unsupported): they touch the same bytes.
Result<std::vector<Step>> combine_edits(std::vector<Step> steps);

}  // namespace preflight
