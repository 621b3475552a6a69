// SPDX-License-Identifier: MIT
// What only the live system's own LVM can say.
#pragma once

#include <string>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// What `lvmconfig --typeconfig default devices/use_devicesfile` prints, asked with no
/// configuration at all, so that it is the build's default and nothing else. Errors: missing, io.
Result<std::string> ask_lvm_default();

/// What `lvmconfig --typeconfig full devices/use_devicesfile` prints: the setting in force.
Result<std::string> ask_lvm_setting();

/// What `lvm version` prints. It may do so and fail, where there is no device-mapper.
Result<std::string> ask_lvm_version();

/// The devices file that LVM itself writes for those PVs ("/dev/nvme0n1p3"; lvmdevices(8)). Nothing
/// of it reaches the guest's disk. Live only. Errors: as run_in_guest, io when LVM fails.
Result<std::string> propose_devices_file(const Guest& guest, const std::vector<std::string>& pvs);

/// uname's nodename, which is LVM's host tag.
std::string host_name();

}  // namespace preflight
