// SPDX-License-Identifier: MIT
#include "agent/facts/pv_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/facts/nvme_names.h"
#include "agent/formats/lvm_filter.h"

namespace preflight {

namespace {

constexpr int tried_partitions = 9;

struct Candidate {
  std::string label;
  /// Sets of names of which nobody knows which applies, when there are several.
  std::vector<std::vector<std::string>> alternatives;
};

std::vector<std::vector<std::string>> any_partition() {
  std::vector<std::vector<std::string>> names;
  for (int number = 1; number <= tried_partitions; ++number)
    names.push_back(nvme_names_of_partition(number));
  return names;
}

bool is_switched(const Storage& storage, std::size_t device) {
  const std::vector<std::size_t> disks = storage.disks_under(device);
  return storage.devices[device].is_virtio() ||
         std::any_of(disks.begin(), disks.end(),
                     [&](std::size_t disk) { return storage.devices[disk].is_virtio(); });
}

std::vector<Candidate> candidates(const Result<Storage>& storage) {
  if (!storage) return {{"the PV (the disks are not known)", any_partition()}};
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < storage->devices.size(); ++i) {
    if (storage->devices[i].fstype != "LVM2_member" || !is_switched(*storage, i)) continue;
    Candidate candidate{storage->devices[i].path, any_partition()};
    if (auto names = nvme_names(*storage, i, NamesSeenBy::root))
      candidate.alternatives = {std::move(*names)};
    found.push_back(std::move(candidate));
  }
  return found;
}

void judge_candidate(const std::string& setting, const std::vector<std::string>& patterns,
                     const LvmFilter& filter, const Candidate& candidate, FilterJudgement& into) {
  std::size_t rejected = 0;
  LvmFilterVerdict last;
  for (const auto& names : candidate.alternatives) {
    const LvmFilterVerdict verdict = filter.judge(names);
    if (verdict.accepted) continue;
    ++rejected;
    last = verdict;
  }
  if (rejected == 0) return;
  if (rejected < candidate.alternatives.size()) {
    into.doubts.push_back(
        fmt::format("{} accepts some partitions of an NVMe disk and not others, and "
                    "which one the PV is cannot be told",
                    setting));
    return;
  }
  into.hidden.push_back(
      {setting, last.pattern ? patterns[*last.pattern] : "", candidate.label, last.name});
}

void judge_list(const std::string& setting, const std::vector<std::string>& patterns,
                const std::vector<Candidate>& pvs, FilterJudgement& into) {
  const Result<LvmFilter> filter = LvmFilter::create(setting, patterns);
  if (!filter) {
    into.doubts.push_back(filter.error().message());
    return;
  }
  for (const Candidate& pv : pvs) judge_candidate(setting, patterns, *filter, pv, into);
}

}  // namespace

FilterJudgement judge_filters(const LvmFacts& lvm, const Result<Storage>& storage) {
  FilterJudgement judgement;
  const std::vector<Candidate> pvs = candidates(storage);
  judgement.pvs = pvs.size();
  judge_list("devices/filter", lvm.filter, pvs, judgement);
  judge_list("devices/global_filter", lvm.global_filter, pvs, judgement);
  return judgement;
}

bool filters_sleep(const LvmFacts& lvm) {
  const bool missing = !lvm.devices_file && lvm.devices_file.error().kind == ErrorKind::missing;
  return lvm.use_devicesfile && *lvm.use_devicesfile && !missing;
}

}  // namespace preflight
