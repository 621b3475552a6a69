// SPDX-License-Identifier: MIT
#include "agent/facts/finishing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "agent/formats/text.h"
#include "agent/guest/lvm.h"

namespace preflight {

Finishing collect_finishing(const Guest& guest, const LvmFacts& lvm, const Result<Storage>& storage,
                            const Running& running,
                            std::map<std::string, std::string> lvm_files_before) {
  Finishing out;
  out.lvm_files_before = std::move(lvm_files_before);
  const auto vg = volume_group_of_root(storage);
  if (guest.live && vg && running.pvs && was_switched_off(lvm, out))
    out.devices_file = propose_devices_file(guest, devices_of(*vg, *running.pvs));
  return out;
}

std::vector<std::string> devices_of(const std::string& vg, const std::vector<VisiblePv>& pvs) {
  std::vector<std::string> devices;
  for (const VisiblePv& pv : pvs)
    if (pv.vg == vg) devices.push_back(pv.device);
  return devices;
}

bool was_switched_off(const LvmFacts& lvm, const Finishing& finishing) {
  if (!lvm.use_devicesfile || *lvm.use_devicesfile) return false;
  LvmFacts before = lvm;
  for (LvmFile& file : before.files)
    if (const auto it = finishing.lvm_files_before.find(file.path);
        it != finishing.lvm_files_before.end())
      file.text = it->second;
  before = merge_lvm(std::move(before));
  return before.use_devicesfile && *before.use_devicesfile;
}

std::optional<std::string> volume_group_of_root(const Result<Storage>& storage) {
  const auto root = storage ? storage->mounted_at("/") : std::nullopt;
  const auto volume = root ? storage->volume_under(*root) : std::nullopt;
  if (!volume) return std::nullopt;
  const std::string& name = storage->devices[*volume].dm_name;
  const auto split = split_dm_name(name);
  return split ? split->vg : name;
}

std::string fault_of_devices_file(const std::string& text, const std::string& vg,
                                  const std::vector<VisiblePv>& pvs, const Storage& storage) {
  std::set<std::string> wanted, listed;
  for (const std::string& device : devices_of(vg, pvs)) {
    const auto found = storage.resolve(device);
    const std::string id = found.empty() ? "" : storage.devices[found.front()].pvid();
    if (id.empty()) return fmt::format("the PVID of {} is not known", device);
    wanted.insert(id);
  }
  for (const DevicesEntry& entry : parse_devices_file("", text).entries) listed.insert(entry.pvid);
  if (wanted.empty()) return fmt::format("LVM shows no PV of {}", vg);
  if (listed == wanted) return {};
  return fmt::format("LVM would list {} devices, and {} has {} PVs", listed.size(), vg,
                     wanted.size());
}

}  // namespace preflight
