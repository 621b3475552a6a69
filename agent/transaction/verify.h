// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "agent/facts/release.h"
#include "agent/facts/storage.h"
#include "agent/formats/image.h"

namespace preflight {

/// Whether an image that dracut has just built may take the old one's place; what speaks against it
/// in words, nothing when it may:
///  - it reads to its end, and nothing in it is hidden from this reader;
///  - nvme would load by its PCI class, with its whole closure, under `kernel` (or is built in);
///  - virtio_blk would, if it did from the old image: the way back;
///  - nothing that brings up the root file system and was in the old image is gone;
///  - the modules in `needed` would load, those of them that this kernel has as modules.
/// dracut's exit status says none of that: errors of dracut-install mostly end in exit 0.
/// `old` is nullptr when there was no image that could be read. `kernel` is the one it is for.
std::vector<std::string> verify_new_image(const Image* old, const Image& fresh,
                                          const Kernel& kernel,
                                          const std::vector<std::string>& needed = {});

/// The modules that the root file system and what it lies on need, whatever the old image had:
/// {"xfs", "dm_mod"}. Empty when the root's device is not known.
std::vector<std::string> modules_of_root(const Result<Storage>& storage);

}  // namespace preflight
