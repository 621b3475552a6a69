// SPDX-License-Identifier: MIT
// After the switch: LVM's commands see the PVs of root's volume group. A devices file that does not
// know them hides them although root is mounted (seen in a real boot: `pvs` listed nothing).
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

std::vector<Finding> run(const Facts& facts) {
  if (!facts.storage)
    return {make_finding("/", Status::unknown, facts.storage.error().message() + ".")};
  const auto of_root = volume_group_of_root(facts.storage);
  if (!of_root) return {make_finding("/", Status::skip, "The root file system is on no LV.")};
  const std::string& vg = *of_root;
  if (!facts.running.pvs)
    return {make_finding(vg, Status::unknown,
                         fmt::format("Whether LVM sees the volume group is not known: {}.",
                                     facts.running.pvs.error().message()))};
  std::string seen;
  for (const VisiblePv& pv : *facts.running.pvs)
    if (pv.vg == vg) seen += (seen.empty() ? "" : ", ") + pv.device;
  Finding out = make_finding(
      vg, seen.empty() ? Status::fail : Status::pass,
      seen.empty() ? fmt::format("LVM's commands see no PV of {}, on which the root file system "
                                 "lies: its devices file or filter hides it.",
                                 printable(vg))
                   : fmt::format("LVM's commands see {} on {}.", printable(vg), printable(seen)));
  if (seen.empty())
    out.remedy =
        Remedy{"",
               "nvme-preflight --check names the file; lvmdevices lists what LVM may "
               "use.",
               {"nvme-preflight", "--check", "--only", "lvm.config,lvm.devicesfile,lvm.filter"}};
  return {out};
}

}  // namespace

extern const Check after_volume_group_check;
const Check after_volume_group_check{"after.volume-group", "LVM sees root's volume group", run};

}  // namespace preflight
