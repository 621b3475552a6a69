// SPDX-License-Identifier: MIT
// After the switch: no unit has failed for want of a disk by its old name. Units of devices, mounts
// and swaps bear the name they wait for (systemd.device(5)).
#include <fmt/format.h>

#include "agent/check.h"
#include "agent/facts/stable_name.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

bool brings_up_storage(const std::string& unit) {
  for (const std::string_view kind : {".mount", ".swap", ".device"})
    if (unit.ends_with(kind)) return true;
  return unit.starts_with("systemd-cryptsetup@") || unit.starts_with("systemd-fsck@") ||
         unit.starts_with("lvm");
}

/// "systemd-fsck@dev-vda3.service" names a device as "dev-vda3.device" does.
bool names_old_disk(const std::string& unit) {
  const std::size_t at = unit.find('@');
  std::string name = at == std::string::npos ? unit : unit.substr(at + 1);
  name = name.substr(0, name.rfind('.')) + ".device";
  const std::string device = device_of_unit(name);
  return !device.empty() && why_it_changes(device).has_value();
}

std::vector<Finding> run(const Facts& facts) {
  if (!facts.running.failed_units)
    return {make_finding("systemd", Status::unknown,
                         fmt::format("Which units have failed is not known: {}.",
                                     facts.running.failed_units.error().message()))};
  std::vector<Finding> findings;
  for (const std::string& unit : *facts.running.failed_units) {
    const bool by_name = names_old_disk(unit);
    Finding finding =
        make_finding(unit, by_name || brings_up_storage(unit) ? Status::fail : Status::warn,
                     fmt::format("{} has failed{}.", printable(unit),
                                 by_name ? "; it names a disk of the old controller" : ""));
    finding.remedy = Remedy{"", "See why", {"systemctl", "status", unit}};
    findings.push_back(std::move(finding));
  }
  if (findings.empty())
    findings.push_back(make_finding("systemd", Status::pass, "No unit has failed."));
  return findings;
}

}  // namespace

extern const Check after_failed_units_check;
const Check after_failed_units_check{"after.failed-units", "no unit has failed", run};

}  // namespace preflight
