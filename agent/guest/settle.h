// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "agent/result.h"

namespace preflight {

/// Writes what the file system of an opened directory has in its journal to where it belongs. GRUB
/// replays no journal: after a power cut it finds what lies in place, and fsync(2) alone leaves a
/// new name, inode and extent in the journal. Also true of dracut's own images, which it settles so
/// (dracut.sh, "fsfreeze"; dracutdevs/dracut pull request 331, rhboot/grubby issue 25).
Result<void> settle(int directory, const std::string& path);

}  // namespace preflight
