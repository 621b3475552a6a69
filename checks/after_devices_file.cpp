// SPDX-License-Identifier: MIT
// After the switch: LVM's devices file, which --fix switched off because it knew the old disk, can
// be used again. Nothing fails without it; with it LVM leaves foreign disks alone, as before.
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

bool is_volume_of(const BlockDevice& device, const std::string& vg) {
  const auto name = split_dm_name(device.dm_name);
  return name && name->vg == vg;
}

/// Whether the guest mounts or swaps on a volume of that VG, now or by fstab.
bool is_in_use(const Facts& facts, const std::string& vg) {
  const std::vector<BlockDevice>& devices = facts.storage->devices;
  const auto used = [&](const BlockDevice& device) {
    return is_volume_of(device, vg) && !device.mounts.empty();
  };
  if (std::any_of(devices.begin(), devices.end(), used)) return true;
  if (!facts.fstab) return false;
  return std::any_of(
      facts.fstab->lines.begin(), facts.fstab->lines.end(), [&](const DeviceLine& line) {
        const auto found = facts.storage->resolve(line.device);
        return std::any_of(found.begin(), found.end(),
                           [&](std::size_t i) { return is_volume_of(devices[i], vg); });
      });
}

/// A VG besides root's that the new devices file would hide from the guest; "" when there is none.
std::string hidden_vg(const Facts& facts, const std::string& vg) {
  for (const VisiblePv& pv : *facts.running.pvs)
    if (!pv.vg.empty() && pv.vg != vg && is_in_use(facts, pv.vg)) return pv.vg;
  return {};
}

/// Why --finish leaves it alone; "" when it can put the devices file back to use.
std::string obstacle(const Facts& facts, const std::string& vg) {
  if (!facts.running.pvs) return facts.running.pvs.error().message();
  if (const std::string other = hidden_vg(facts, vg); !other.empty())
    return fmt::format(
        "the guest also uses volumes of {}, which a devices file of {} alone would "
        "hide",
        other, vg);
  if (!facts.finishing.devices_file) return facts.finishing.devices_file.error().message();
  return fault_of_devices_file(*facts.finishing.devices_file, vg, *facts.running.pvs,
                               *facts.storage);
}

std::vector<Finding> run(const Facts& facts) {
  const std::string subject = facts.lvm.system_dir + "/lvm.conf";
  const auto vg = volume_group_of_root(facts.storage);
  if (!vg) return {make_finding(subject, Status::skip, "The root file system is on no LV.")};
  if (!was_switched_off(facts.lvm, facts.finishing))
    return {make_finding(subject, Status::skip,
                         "No run of --fix that is in force switched LVM's devices file off.")};
  Finding out =
      make_finding(subject, Status::warn,
                   "use_devicesfile is still 0, as --fix set it for the switch: LVM looks "
                   "at every disk, also at those that belong to others.");
  if (const std::string why = obstacle(facts, *vg); !why.empty()) {
    out.summary += fmt::format(" --finish leaves it so: {}.", printable(why));
    out.remedy = Remedy{"",
                        "Record the PVs of each volume group in use, then set use_devicesfile = 1 "
                        "again in lvm.conf",
                        {"lvm", "vgimportdevices", *vg}};
    return {out};
  }
  out.remedy = Remedy{"lvm-devices-again",
                      fmt::format("Record the PVs of {} in a new devices file and use it again, as "
                                  "before the fix (nvme-preflight --finish).",
                                  printable(*vg)),
                      {}};
  return {out};
}

}  // namespace

extern const Check after_devices_file_check;
const Check after_devices_file_check{"after.devices-file", "LVM uses its devices file again", run};

}  // namespace preflight
