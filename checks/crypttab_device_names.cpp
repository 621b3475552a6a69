// SPDX-License-Identifier: MIT
// Encrypted devices that systemd-cryptsetup waits for by a name that is gone on NVMe (crypttab(5):
// the second field; nofail and noauto as in fstab).
#include "agent/check.h"
#include "checks/table_device_names.h"

namespace preflight {

namespace {

std::vector<Finding> run_check(const Facts& facts) {
  return judge_device_table(facts, facts.crypttab, "/etc/crypttab", "crypttab-uuid",
                            "it is never unlocked.");
}

}  // namespace

extern const Check crypttab_device_names_check{"crypttab.device-names",
                                               "crypttab names disks by UUID", run_check};

}  // namespace preflight
