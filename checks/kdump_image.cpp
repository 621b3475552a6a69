// SPDX-License-Identifier: MIT
// kdump's own image is always host-only, strictly so (kexec-tools mkdumprd: --hostonly
// --hostonly-mode strict): it has no nvme driver until it is rebuilt on the new controller. The
// boot does not depend on it; a crash dump does.
#include "agent/check.h"

namespace preflight {

namespace {

std::vector<Finding> run_check(const Facts& facts) {
  const Kdump& kdump = facts.surroundings.kdump;
  std::vector<Finding> findings;
  for (const std::string& image : kdump.images) {
    Finding finding;
    finding.subject = image;
    finding.status = Status::warn;
    finding.summary =
        "The kdump image was made for the old controller: after the switch a crash could not be "
        "dumped "
        "until it is rebuilt.";
    finding.remedy = Remedy{"", "after the switch", {"kdumpctl", "rebuild"}};
    findings.push_back(std::move(finding));
  }
  if (!findings.empty()) return findings;
  Finding finding;
  finding.subject = "kdump";
  finding.status = Status::skip;
  finding.summary =
      kdump.enabled ? "kdump is enabled, but has made no image yet." : "There is no kdump image.";
  return {finding};
}

}  // namespace

extern const Check kdump_image_check{"kdump.image", "the kdump image is rebuilt after the switch",
                                     run_check};

}  // namespace preflight
