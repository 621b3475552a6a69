// SPDX-License-Identifier: MIT
// The partition table and the file systems are written in units of the logical sector: a 512-byte
// GPT seen with 4096-byte sectors has no partitions at all (tried with losetup -b 4096). bhyve's
// NVMe takes the backing's size unless sectsz= or sectorsize= says otherwise (bhyve(8)).
#include <fmt/format.h>

#include "agent/check.h"

namespace preflight {

namespace {

constexpr std::uint32_t usual_sector = 512;

Finding judge_disk(const BlockDevice& disk) {
  Finding finding;
  finding.subject = disk.path;
  if (disk.sector_size == usual_sector) {
    finding.status = Status::pass;
    finding.summary =
        "The root disk has 512-byte logical sectors, which NVMe emulation uses by default.";
    return finding;
  }
  finding.status = Status::warn;
  finding.summary =
      disk.sector_size == 0
          ? "The root disk's logical sector size is not known. The NVMe side must keep it, or no "
            "partition is found."
          : fmt::format(
                "The root disk has {}-byte logical sectors. The NVMe side must keep that size, or "
                "no partition is found.",
                disk.sector_size);
  finding.evidence.push_back(
      {disk.path, 0, disk.sector_size == 0 ? "unknown" : std::to_string(disk.sector_size), "512"});
  finding.remedy = Remedy{"", "keep the sector size on the host (bhyve: sectsz=, sectorsize=)", {}};
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  Finding finding;
  finding.subject = "root disk";
  finding.status = Status::unknown;
  if (!facts.storage) {
    finding.summary = fmt::format("The disks are not known: {}.", facts.storage.error().message());
    return {finding};
  }
  const auto root = facts.storage->mounted_at("/");
  if (!root) {
    finding.summary = "No device of this guest is mounted at /.";
    return {finding};
  }
  std::vector<Finding> findings;
  for (const std::size_t disk : facts.storage->disks_under(*root))
    findings.push_back(judge_disk(facts.storage->devices[disk]));
  if (!findings.empty()) return findings;
  finding.summary = "The disk under / could not be found.";
  return {finding};
}

}  // namespace

extern const Check disk_sector_size_check{"disk.sector-size",
                                          "the disk keeps its logical sector size", run_check};

}  // namespace preflight
