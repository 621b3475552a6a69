// SPDX-License-Identifier: MIT
#pragma once

#include "agent/formats/fstab.h"
#include "agent/guest/guest.h"

namespace preflight {

/// /etc/fstab and /etc/crypttab. Errors: missing, denied, wrong_type, too_large.
Result<DeviceTable> collect_fstab(const Guest& guest);
Result<DeviceTable> collect_crypttab(const Guest& guest);

}  // namespace preflight
