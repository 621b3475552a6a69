// SPDX-License-Identifier: MIT
#include "agent/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/facts/pv_filter.h"
#include "agent/plan.h"
#include "checks/list.h"
#include "fixes/list.h"

namespace preflight {

namespace {

bool contains(const std::vector<std::string>& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool has_check(std::span<const Check> checks, std::string_view id) {
  return std::any_of(checks.begin(), checks.end(),
                     [&](const Check& check) { return check.id == id; });
}

bool any_with(const std::vector<Finding>& findings, Status status) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.status == status; });
}

bool asks_for(const std::vector<Finding>& findings, std::string_view fix) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return is_fixable(finding) && finding.remedy->fix == fix;
  });
}

/// Switching the devices file off wakes the filters up: without the filter's own fix (left out by
/// --skip or --only) that must not hide the PV.
Result<void> filter_stays_harmless(const Facts& facts, const std::vector<Finding>& findings) {
  if (!asks_for(findings, "lvm-devicesfile") || asks_for(findings, "lvm-filter")) return {};
  const FilterJudgement judgement = judge_filters(facts.lvm, facts.storage);
  if (judgement.hidden.empty()) return {};
  const HiddenPv& hidden = judgement.hidden.front();
  return fail(
      ErrorKind::unsupported, facts.lvm.system_dir + "/lvm.conf",
      fmt::format("with use_devicesfile = 0 its {} would hide {} on NVMe; let --fix edit the "
                  "filter as well (do not leave out lvm.filter)",
                  hidden.setting, hidden.pv));
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ready:
      return "ready";
    case Verdict::not_ready:
      return "not-ready";
    case Verdict::unknown:
      return "unknown";
  }
  return "unknown";
}

bool Selection::includes(std::string_view check) const {
  return (only.empty() || contains(only, check)) && !contains(skip, check);
}

std::string unknown_check(const Selection& selection) {
  for (const auto* ids : {&selection.only, &selection.skip}) {
    for (const std::string& id : *ids) {
      if (!has_check(all_checks(), id) && !has_check(after_switch_checks(), id)) return id;
    }
  }
  return {};
}

bool selects_nothing(const Selection& selection) {
  const auto none_of = [&](std::span<const Check> checks) {
    return std::none_of(checks.begin(), checks.end(),
                        [&](const Check& check) { return selection.includes(check.id); });
  };
  return none_of(all_checks()) && none_of(after_switch_checks());
}

std::vector<Finding> run_checks(std::span<const Check> checks, const Facts& facts,
                                const Selection& selection) {
  std::vector<Finding> all;
  for (const Check& check : checks) {
    if (!selection.includes(check.id)) continue;
    for (Finding& finding : check.run(facts)) {
      finding.check = check.id;
      all.push_back(std::move(finding));
    }
  }
  return all;
}

Verdict judge(const std::vector<Finding>& findings, bool strict) {
  if (any_with(findings, Status::fail) || (strict && any_with(findings, Status::warn)))
    return Verdict::not_ready;
  return any_with(findings, Status::unknown) ? Verdict::unknown : Verdict::ready;
}

int exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ready:
      return 0;
    case Verdict::not_ready:
      return 1;
    case Verdict::unknown:
      return 3;
  }
  return 3;
}

bool is_fixable(const Finding& finding) {
  return (finding.status == Status::fail || finding.status == Status::warn) && finding.remedy &&
         !finding.remedy->fix.empty();
}

bool is_finished_with(const Finding& finding) {
  return is_fixable(finding) && finding.check.starts_with("after.");
}

Result<std::vector<Step>> plan_fixes(const Facts& facts, const std::vector<Finding>& findings,
                                     bool keep_hostonly) {
  const auto unsupported = std::find_if(findings.begin(), findings.end(), [](const Finding& f) {
    return f.check == "guest.supported" && f.status == Status::fail;
  });
  if (unsupported != findings.end() && std::any_of(findings.begin(), findings.end(), is_fixable))
    return fail(ErrorKind::unsupported, unsupported->subject,
                "nothing is changed on a system that this tool does not know how to rehearse");
  std::vector<Step> plan;
  for (const Fix& fix : keep_hostonly ? fixes_that_keep_hostonly() : all_fixes()) {
    std::vector<Finding> mine;
    std::copy_if(findings.begin(), findings.end(), std::back_inserter(mine),
                 [&](const Finding& finding) {
                   return is_fixable(finding) && finding.remedy->fix == fix.id;
                 });
    if (mine.empty()) continue;
    Result<std::vector<Step>> steps = fix.plan(facts, mine);
    if (!steps) return tl::unexpected(steps.error());
    std::move(steps->begin(), steps->end(), std::back_inserter(plan));
  }
  if (const Result<void> safe = filter_stays_harmless(facts, findings); !safe)
    return tl::unexpected(safe.error());
  return combine_edits(std::move(plan));
}

}  // namespace preflight
