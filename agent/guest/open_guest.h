// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "agent/guest/guest.h"

namespace preflight {

/// The guest at `dir`. It is live when that is this process's own root, by whatever name.
Result<Guest> open_guest(const std::string& dir, std::optional<std::string> lsblk_file);

}  // namespace preflight
