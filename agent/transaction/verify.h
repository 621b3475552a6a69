// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "agent/facts/release.h"
#include "agent/formats/image.h"

namespace preflight {

/// Whether an image that dracut has just built may take the old one's place; what speaks against it
/// in words, nothing when it may:
///  - it reads to its end, and nothing in it is hidden from this reader;
///  - nvme would load by its PCI class, with its whole closure, under `kernel` (or is built in);
///  - virtio_blk would, if it did from the old image: the way back;
///  - nothing that brings up the root file system and was in the old image is gone.
/// dracut's exit status says none of that: errors of dracut-install mostly end in exit 0.
/// `old` is nullptr when there was no image that could be read. `kernel` is the one it is for.
std::vector<std::string> verify_new_image(const Image* old, const Image& fresh,
                                          const Kernel& kernel);

}  // namespace preflight
