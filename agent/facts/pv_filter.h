// SPDX-License-Identifier: MIT
// Whether LVM's filters would hide the guest's PVs once their disk is NVMe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/facts/lvm.h"
#include "agent/facts/storage.h"

namespace preflight {

/// What one filter list says of one PV.
struct HiddenPv {
  std::string setting;  // "devices/filter" or "devices/global_filter"
  std::string pattern;  // the pattern that rejects it
  std::string pv;       // "/dev/vda3", or words when the disks are not known
  std::string name;     // the name on NVMe that was rejected
};

struct FilterJudgement {
  std::vector<HiddenPv> hidden;
  std::vector<std::string> doubts;  // why something could not be told
  std::size_t pvs = 0;              // PVs on disks that are switched
};

/// Judges devices/filter and devices/global_filter by LVM's own matcher, against every name that
/// each PV on a virtio disk will have (agent/facts/nvme_names.h). With the disks not known,
/// partitions 1 to 9 stand for the PV, and only a list that treats them all alike is an answer.
FilterJudgement judge_filters(const LvmFacts& lvm, const Result<Storage>& storage);

/// LVM ignores both lists while it uses a devices file (lvm2 lib/filters/filter-regex.c): they
/// sleep when use_devicesfile is 1 and the file is there.
bool filters_sleep(const LvmFacts& lvm);

}  // namespace preflight
