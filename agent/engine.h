// SPDX-License-Identifier: MIT
// Facts through the checks to a verdict, and findings through the fixes to a plan. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/check.h"
#include "agent/step.h"

namespace preflight {

enum class Verdict { ready, not_ready, unknown };

std::string_view to_string(Verdict verdict);

/// Which checks run: `only` when it is not empty, less `skip`.
struct Selection {
  std::vector<std::string> only;
  std::vector<std::string> skip;
  bool includes(std::string_view check) const;
  bool is_everything() const { return only.empty() && skip.empty(); }
};

/// The first id of the selection that is no check's; empty when all are known.
std::string unknown_check(const Selection& selection);

/// Whether the selection leaves no check of either list.
bool selects_nothing(const Selection& selection);

/// Findings of every selected check of a list, in its order.
std::vector<Finding> run_checks(std::span<const Check> checks, const Facts& facts,
                                const Selection& selection);

/// not_ready if anything fails (or warns, when strict), else unknown if anything is unknown.
Verdict judge(const std::vector<Finding>& findings, bool strict);

/// Exit codes of design section 2 for a report: 0, 1 or 3.
int exit_code_of(Verdict verdict);

/// Findings that --fix or --finish is to mend: fail or warn, with one of our fixes as remedy.
bool is_fixable(const Finding& finding);

/// Whether that is for --finish: what only concerns a guest that has been switched.
bool is_finished_with(const Finding& finding);

/// The steps that mend what is fixable, in order. An error refuses the run. With `keep_hostonly`
/// host-only images stay so and get nvme by name.
Result<std::vector<Step>> plan_fixes(const Facts& facts, const std::vector<Finding>& findings,
                                     bool keep_hostonly = false);

}  // namespace preflight
