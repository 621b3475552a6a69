// SPDX-License-Identifier: MIT
// A filter that knows the disk by its old name hides the PV (lvm.conf(5), devices/filter; the rule
// order is that of lvm2 lib/filters/filter-regex.c). While a devices file is in use both lists are
// ignored, so a bad filter may have slept for years; it wakes up when use_devicesfile becomes 0.
#include <fmt/format.h>

#include "agent/check.h"
#include "agent/facts/pv_filter.h"
#include "agent/formats/lvm_conf.h"

namespace preflight {

namespace {

Finding plain(const Facts& facts, Status status, std::string summary) {
  Finding finding;
  finding.subject = facts.lvm.system_dir + "/lvm.conf";
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
}

/// The places that write a setting, the deciding file's last.
std::vector<Evidence> places_of(const LvmFacts& lvm, const HiddenPv& hidden) {
  std::vector<Evidence> evidence;
  for (const LvmFile& file : lvm.files) {
    const Result<LvmConf> conf = LvmConf::parse(file.path, file.text);
    if (!conf) continue;
    const auto places = conf->places(hidden.setting);
    if (!places) continue;
    for (const LvmConfPlace& place : *places)
      evidence.push_back({file.path, place.line, std::string(conf->written(place)),
                          "a pattern that accepts " + hidden.name});
  }
  return evidence;
}

Finding hidden_finding(const Facts& facts, const HiddenPv& hidden) {
  const bool sleeps = filters_sleep(facts.lvm);
  Finding finding;
  finding.evidence = places_of(facts.lvm, hidden);
  finding.subject =
      finding.evidence.empty() ? facts.lvm.system_dir + "/lvm.conf" : finding.evidence.back().path;
  finding.status = sleeps ? Status::warn : Status::fail;
  finding.summary =
      sleeps ? fmt::format(
                   "{} would reject {} under every name it has on NVMe ({} by {}). It sleeps "
                   "while the devices file is in use, and is live after the fix of "
                   "lvm.devicesfile.",
                   hidden.setting, hidden.pv, hidden.name, hidden.pattern)
             : fmt::format(
                   "{} rejects {} under every name it has on NVMe ({} by {}): LVM sees no PV, "
                   "and what is not activated by the initramfs never appears.",
                   hidden.setting, hidden.pv, hidden.name, hidden.pattern);
  finding.remedy =
      Remedy{"lvm-filter", "put a pattern that accepts NVMe disks in front of the list", {}};
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  if (!facts.lvm.installed) return {plain(facts, Status::skip, "LVM is not installed here.")};
  if (!facts.lvm.errors.empty())
    return {
        plain(facts, Status::unknown,
              fmt::format("The filters cannot be told: {}.", facts.lvm.errors.front().message()))};
  if (facts.lvm.filter.empty() && facts.lvm.global_filter.empty())
    return {plain(facts, Status::pass, "No filter is set.")};
  const FilterJudgement judgement = judge_filters(facts.lvm, facts.storage);
  if (judgement.pvs == 0)
    return {plain(facts, Status::skip, "No PV lies on a disk that is switched.")};
  std::vector<Finding> findings;
  for (const HiddenPv& hidden : judgement.hidden) findings.push_back(hidden_finding(facts, hidden));
  for (const std::string& doubt : judgement.doubts)
    findings.push_back(plain(facts, Status::unknown, doubt + "."));
  if (findings.empty())
    findings.push_back(plain(facts, Status::pass, "The filters accept the PV's names on NVMe."));
  return findings;
}

}  // namespace

extern const Check lvm_filter_check{"lvm.filter", "no LVM filter hides the PV", run_check};

}  // namespace preflight
