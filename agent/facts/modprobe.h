// SPDX-License-Identifier: MIT
#pragma once

#include "agent/formats/image.h"
#include "agent/guest/guest.h"

namespace preflight {

/// The guest's own modprobe.d, laid out as in an image that dracut copies it into: "lib/modprobe.d"
/// goes into every image, "etc/modprobe.d" into host-only ones (dracut modules.d/90kernel-modules
/// module-setup.sh, install(): R8:112-113, R9:153-155, R10:153-155). A file that cannot be read has
/// no content.
Image collect_modprobe(const Guest& guest);

}  // namespace preflight
