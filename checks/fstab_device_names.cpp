// SPDX-License-Identifier: MIT
// Mounts and swaps that systemd waits for by a name that is gone on NVMe. A device unit that never
// appears fails its mount after 90 s (systemd.mount(5), DefaultTimeoutStartSec), and with it
// local-fs.target: emergency mode (systemd.special(7)). nofail and noauto: systemd.mount(5).
#include "agent/check.h"
#include "checks/table_device_names.h"

namespace preflight {

namespace {

std::vector<Finding> run_check(const Facts& facts) {
  return judge_device_table(facts, facts.fstab, "/etc/fstab", "fstab-uuid",
                            "the boot waits, then enters emergency mode.");
}

}  // namespace

extern const Check fstab_device_names_check{"fstab.device-names", "fstab names disks by UUID",
                                            run_check};

}  // namespace preflight
