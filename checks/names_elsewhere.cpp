// SPDX-License-Identifier: MIT
// Names of the old disk in places that the boot does not wait for: units, udev rules, smartd,
// monitoring, GRUB's device.map (a missing path there is skipped: grub-core/kern/emu/hostdisk.c).
// What they do simply stops working.
#include <fmt/format.h>

#include <map>

#include "agent/check.h"

namespace preflight {

namespace {

constexpr std::size_t evidence_cap = 5;

std::vector<Finding> run_check(const Facts& facts) {
  std::map<std::string, std::vector<const NameHit*>> by_file;
  for (const NameHit& hit : facts.surroundings.names) by_file[hit.path].push_back(&hit);
  std::vector<Finding> findings;
  for (const auto& [path, hits] : by_file) {
    Finding finding;
    finding.subject = path;
    finding.status = Status::warn;
    finding.summary =
        fmt::format("{} {} of the old controller; it has no effect, or fails, on NVMe.",
                    hits.size(), hits.size() == 1 ? "line names a disk" : "lines name disks");
    for (std::size_t i = 0; i < std::min(hits.size(), evidence_cap); ++i)
      finding.evidence.push_back({path, hits[i]->line, hits[i]->name, "a name that survives"});
    finding.remedy = Remedy{"", "name the disk by UUID, or by nvme0n1, once it is switched", {}};
    findings.push_back(std::move(finding));
  }
  if (!facts.surroundings.names_complete) {
    Finding finding;
    finding.subject = "/etc";
    finding.status = Status::warn;
    finding.summary = "Not every file could be searched; other names may have been missed.";
    findings.push_back(std::move(finding));
  }
  if (!findings.empty()) return findings;
  Finding finding;
  finding.subject = "/etc";
  finding.status = Status::pass;
  finding.summary = "Nothing else in /etc names the old controller's disks.";
  return {finding};
}

}  // namespace

extern const Check names_elsewhere_check{"names.elsewhere", "nothing else names the old disk",
                                         run_check};

}  // namespace preflight
