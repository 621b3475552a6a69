// SPDX-License-Identifier: MIT
// Reads the files GRUB is configured with.
#pragma once

#include <vector>

#include "agent/facts/boot_default.h"
#include "agent/guest/guest.h"

namespace preflight {

/// The configurations that may be the one GRUB starts with, never none; the first serves for the
/// variables. Live, the firmware tells which one it is; in a tree there may be two. Directories
/// that could not be listed are added to `notes`.
std::vector<GrubSite> find_grub_sites(const Guest& guest, std::vector<Error>& notes);

}  // namespace preflight
