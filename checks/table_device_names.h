// SPDX-License-Identifier: MIT
// What fstab.device-names and crypttab.device-names have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/facts.h"
#include "agent/finding.h"

namespace preflight {

/// One finding per line of the table whose device name ends with the controller; a single pass,
/// skip or unknown otherwise. `fix` mends the lines whose device has a UUID of its own. `effect`
/// says what the boot does about such a line.
/// Why the boot can do without a line that is neither nofail nor noauto; empty when it can't.
using Dispensable = std::string (*)(const Facts& facts, const DeviceLine& line);

std::vector<Finding> judge_device_table(const Facts& facts, const Result<DeviceTable>& table,
                                        std::string_view path, std::string_view fix,
                                        std::string_view effect, Dispensable dispensable = nullptr);

}  // namespace preflight
