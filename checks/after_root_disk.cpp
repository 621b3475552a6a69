// SPDX-License-Identifier: MIT
// After the switch: the root file system lies on NVMe and on nothing else.
#include <fmt/format.h>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

std::vector<Finding> run(const Facts& facts) {
  if (!facts.storage)
    return {make_finding("/", Status::unknown,
                         fmt::format("What the root file system lies on is not known: {}.",
                                     facts.storage.error().message()))};
  const auto root = facts.storage->mounted_at("/");
  if (!root)
    return {make_finding("/", Status::unknown,
                         fmt::format("{} lists nothing as mounted at /.", facts.storage->source))};
  std::vector<Finding> findings;
  for (const std::size_t index : facts.storage->disks_under(*root)) {
    const BlockDevice& disk = facts.storage->devices[index];
    Finding one =
        make_finding(disk.path, disk.is_nvme() ? Status::pass : Status::fail,
                     fmt::format("The root file system lies on {}{}.", printable(disk.path),
                                 disk.is_nvme() ? "" : ", which is no NVMe disk"));
    one.evidence.push_back(
        {disk.path, 0, disk.transport.empty() ? disk.name : disk.transport, "nvme"});
    if (!disk.is_nvme())
      one.remedy = Remedy{"",
                          "Switch the disk's controller on the host; --check says whether the "
                          "guest is ready for it.",
                          {"nvme-preflight", "--check"}};
    findings.push_back(std::move(one));
  }
  if (findings.empty())
    findings.push_back(
        make_finding("/", Status::unknown, "No disk is known below the root file system."));
  return findings;
}

}  // namespace

extern const Check after_root_disk_check;
const Check after_root_disk_check{"after.root-disk", "the root file system is on NVMe", run};

}  // namespace preflight
