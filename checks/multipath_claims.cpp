// SPDX-License-Identifier: MIT
// multipath's built-in device blacklist leaves nvme disks in while it keeps vd out
// (multipath-tools libmultipath/blacklist.c), so after the switch the root disk becomes a
// candidate. find_multipaths "no" ("off") and "greedy" take every candidate, also with a single
// path (multipath.conf(5)).
#include <fmt/format.h>

#include "agent/check.h"

namespace preflight {

namespace {

bool takes_everything(std::string_view value) {
  return value == "no" || value == "off" || value == "greedy";
}

Finding claim(std::string subject, const FindMultipaths& found, std::string_view where) {
  Finding finding;
  finding.subject = subject;
  finding.status = Status::warn;
  finding.summary = fmt::format(
      "multipath {} takes every NVMe disk (find_multipaths {}), the root disk "
      "too: it then appears as a multipath device.",
      where, found.value);
  finding.evidence.push_back({std::move(subject), found.line, "find_multipaths " + found.value,
                              "find_multipaths yes, or nvme in its blacklist"});
  finding.remedy = Remedy{"", "blacklist the disk: blacklist { devnode \"^nvme\" }", {}};
  return finding;
}

/// This check can only warn, where it could not look as well.
Finding unread(std::string subject, const std::string& why) {
  Finding finding;
  finding.subject = std::move(subject);
  finding.status = Status::warn;
  finding.summary =
      fmt::format("Whether multipath would take the NVMe disk cannot be told: {}.", why);
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  std::vector<Finding> findings;
  const Multipath& multipath = facts.surroundings.multipath;
  const FindMultipaths found = read_find_multipaths(multipath.text);
  if (!multipath.path.empty() && takes_everything(found.value) && !found.nvme_blacklisted)
    findings.push_back(claim(multipath.path, found, "on the running system"));
  if (multipath.error) findings.push_back(unread(multipath.error->path, multipath.error->what));
  for (const auto& [key, image] : facts.images) {
    if (!image || !image->find("usr/sbin/multipathd")) continue;
    const std::string* text = image->content("etc/multipath.conf");
    const ImageFile* file = image->find("etc/multipath.conf");
    if (!text && file && file->size > 0)
      findings.push_back(unread(key + ": etc/multipath.conf", "it was not read"));
    if (!text) continue;
    const FindMultipaths inside = read_find_multipaths(*text);
    if (takes_everything(inside.value) && !inside.nvme_blacklisted)
      findings.push_back(claim(key + ": etc/multipath.conf", inside, "in the image"));
  }
  if (!findings.empty()) return findings;
  Finding finding;
  finding.subject = multipath.path.empty() ? "multipath" : multipath.path;
  finding.status = multipath.path.empty() ? Status::skip : Status::pass;
  finding.summary = multipath.path.empty() ? "multipath is not configured."
                                           : "multipath does not take disks with a single path.";
  return {finding};
}

}  // namespace

extern const Check multipath_claims_check{"multipath.claims",
                                          "multipath leaves the NVMe disk alone", run_check};

}  // namespace preflight
