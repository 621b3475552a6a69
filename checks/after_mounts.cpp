// SPDX-License-Identifier: MIT
// After the switch: what fstab mounts and swaps on at boot is there.
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

bool is_swap(const DeviceLine& line) {
  return line.type == "swap";
}

/// fstab's mount points may end in a slash (systemd fstab-generator simplifies them).
std::string simplified(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool is_mounted(const std::vector<Mount>& mounts, const DeviceLine& line) {
  const std::string wanted = simplified(line.name);
  return std::any_of(mounts.begin(), mounts.end(),
                     [&](const Mount& mount) { return mount.mount_point == wanted; });
}

/// nullopt: which device the line means is not known.
std::optional<bool> is_swapped_on(const Facts& facts, const std::vector<std::string>& swaps,
                                  const DeviceLine& line) {
  if (std::find(swaps.begin(), swaps.end(), line.device) != swaps.end()) return true;
  if (!facts.storage) return std::nullopt;
  for (const std::size_t index : facts.storage->resolve(line.device)) {
    const auto& mounts = facts.storage->devices[index].mounts;
    if (std::find(mounts.begin(), mounts.end(), "[SWAP]") != mounts.end()) return true;
  }
  return false;
}

std::optional<bool> is_up(const Facts& facts, const DeviceLine& line) {
  if (is_swap(line)) {
    if (!facts.running.swaps) return std::nullopt;
    return is_swapped_on(facts, *facts.running.swaps, line);
  }
  if (!facts.running.mounts) return std::nullopt;
  return is_mounted(*facts.running.mounts, line);
}

/// An automount is mounted when it is first used.
bool comes_at_boot(const DeviceLine& line) {
  return !line.is_noauto() && !line.has_option("x-systemd.automount") &&
         (is_swap(line) || line.name.starts_with('/'));
}

Finding judge(const Facts& facts, const DeviceLine& line) {
  Finding finding;
  finding.subject = fmt::format("{}:{}", facts.fstab->path, line.line);
  const std::string what = is_swap(line) ? "Swap " + line.device : line.name;
  finding.evidence.push_back({facts.fstab->path, line.line, line.device, ""});
  const std::optional<bool> up = is_up(facts, line);
  finding.status = !up                ? Status::unknown
                   : *up              ? Status::pass
                   : line.is_nofail() ? Status::warn
                                      : Status::fail;
  finding.summary = fmt::format("{} is {}.", printable(what),
                                !up   ? "mounted or not: that is not known"
                                : *up ? (is_swap(line) ? "in use" : "mounted")
                                      : (is_swap(line) ? "not in use" : "not mounted"));
  return finding;
}

std::vector<Finding> run(const Facts& facts) {
  if (!facts.fstab) {
    const bool none = facts.fstab.error().kind == ErrorKind::missing;
    return {make_finding("/etc/fstab", none ? Status::skip : Status::unknown,
                         facts.fstab.error().message() + ".")};
  }
  std::vector<Finding> findings;
  for (const DeviceLine& line : facts.fstab->lines)
    if (comes_at_boot(line)) findings.push_back(judge(facts, line));
  if (findings.empty())
    findings.push_back(
        make_finding(facts.fstab->path, Status::skip, "fstab mounts nothing at boot."));
  return findings;
}

}  // namespace

extern const Check after_mounts_check;
const Check after_mounts_check{"after.mounts", "fstab's mounts and swaps are up", run};

}  // namespace preflight
