// SPDX-License-Identifier: MIT
// device-mapper's own word on a device, through libdevmapper.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/guest/root.h"

namespace preflight {

struct DmDevice {
  std::string name;                  // "rl-root"
  std::string uuid;                  // "LVM-<vg uuid><lv uuid>"
  std::vector<std::string> numbers;  // "254:3": the devices it lies on
};

/// Asks the kernel about the device with this number ("253:0"). nullopt without permission or
/// without device-mapper: sysfs tells name, uuid and slaves then. `host` is a Root of "/".
std::optional<DmDevice> ask_device_mapper(const Root& host, const std::string& number);

}  // namespace preflight
