// SPDX-License-Identifier: MIT
// Encrypted devices that systemd-cryptsetup waits for by a name that is gone on NVMe (crypttab(5):
// the second field; nofail and noauto as in fstab).
#include <algorithm>

#include "agent/check.h"
#include "agent/facts/storage.h"
#include "checks/table_device_names.h"

namespace preflight {

namespace {

bool lies_on(const Storage& storage, std::size_t device, std::string_view mapping) {
  const auto is_mapping = [&](std::size_t one) { return storage.devices[one].dm_name == mapping; };
  const std::vector<std::size_t> below = storage.below(device);
  return is_mapping(device) || std::any_of(below.begin(), below.end(), is_mapping);
}

/// A line of fstab whose device is there today, and not on the mapping. What leads nowhere may be
/// on it: the mapping can be closed.
bool surely_elsewhere(const Storage& storage, const DeviceLine& line, std::string_view mapping) {
  if (parse_device_spec(line.device).kind == SpecKind::other) return true;
  const std::vector<std::size_t> found = storage.resolve(line.device);
  return !found.empty() && std::none_of(found.begin(), found.end(), [&](std::size_t device) {
    return lies_on(storage, device, mapping);
  });
}

bool holds_a_pv(const Storage& storage, std::string_view mapping) {
  return std::any_of(storage.devices.begin(), storage.devices.end(), [&](const BlockDevice& one) {
    return one.dm_name == mapping && one.fstype == "LVM2_member";
  });
}

/// cryptsetup.target is only wanted by sysinit.target (systemd.special(7), units of systemd 239 to
/// 257): a mapping that never opens holds the boot up for a timeout and no longer, unless a mount
/// or a swap needs it. Tried in real boots (systemd 252): a scratch mapping in crypttab alone ends
/// in the default target; a swap of fstab on it stays off.
std::string nothing_needs_it(const Facts& facts, const DeviceLine& line) {
  if (!facts.storage || !facts.fstab || holds_a_pv(*facts.storage, line.name)) return "";
  const bool unneeded = std::all_of(
      facts.fstab->lines.begin(), facts.fstab->lines.end(), [&](const DeviceLine& other) {
        return other.is_optional() || surely_elsewhere(*facts.storage, other, line.name);
      });
  return unneeded ? "no line of fstab that the boot waits for needs the mapping" : "";
}

std::vector<Finding> run_check(const Facts& facts) {
  return judge_device_table(facts, facts.crypttab, "/etc/crypttab", "crypttab-uuid",
                            "it is never unlocked.", nothing_needs_it);
}

}  // namespace

extern const Check crypttab_device_names_check;
const Check crypttab_device_names_check{"crypttab.device-names", "crypttab names disks by UUID",
                                        run_check};

}  // namespace preflight
