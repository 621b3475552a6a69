// SPDX-License-Identifier: MIT
// What the running guest has up: asked for by --verify alone, for some of it takes a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/guest/mounts.h"
#include "agent/result.h"

namespace preflight {

struct VisiblePv {
  std::string device;  // "/dev/nvme0n1p3"
  std::string vg;      // "" for a PV of no volume group
};

struct Running {
  Result<std::vector<Mount>> mounts = fail(ErrorKind::missing, "", "not collected");
  Result<std::vector<std::string>> swaps = fail(ErrorKind::missing, "", "not collected");
  Result<std::vector<VisiblePv>> pvs = fail(ErrorKind::missing, "", "not collected");
  Result<std::vector<std::string>> failed_units = fail(ErrorKind::missing, "", "not collected");
};

/// Each part is an error (unsupported) for a tree that is not the running system.
Running collect_running(const Guest& guest);

/// The answer of `pvs --reportformat json -o pv_name,vg_name` (lvmreport(7)).
Result<std::vector<VisiblePv>> parse_pvs(std::string_view json);

/// The unit names in the answer of `systemctl list-units --plain --no-legend`.
std::vector<std::string> parse_units(std::string_view text);

}  // namespace preflight
