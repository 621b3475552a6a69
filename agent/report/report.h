// SPDX-License-Identifier: MIT
// What is shown: the JSON of packaging/report-v1.schema.json and the text for a person.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/engine.h"
#include "agent/facts/facts.h"
#include "agent/finding.h"

namespace preflight {

/// What --fix or --undo did: design section 3, "fix".
struct FixReport {
  std::string run;    // empty when no run was made
  std::string state;  // applied, undone, refused, nothing-to-do
  std::vector<std::string> changed;
  std::string message;            // for a person; why it was refused or undone
  std::vector<std::string> plan;  // --dry-run, --diff: what is or would be done, line by line
};

struct Report {
  Verdict verdict = Verdict::unknown;
  int exit_code = 3;
  bool partial = false;       // --only or --skip: not every check was run
  bool after_switch = false;  // --verify: `ready` means that what was promised came true
  std::vector<Finding> findings;
  std::optional<FixReport> fix;
};

/// Pretty-printed JSON with a final newline. Everything from the guest is made printable.
std::string json_report(const Facts& facts, const Report& report);

struct TextStyle {
  bool color = false;
  int width = 80;        // columns to wrap at
  int height = 0;        // rows of the terminal; 0 when it is none, or its size is not known
  bool quiet = false;    // only what blocks, and the verdict
  bool verbose = false;  // evidence of every finding
};

std::string text_report(const Facts& facts, const Report& report, const TextStyle& style);

std::string_view version();

}  // namespace preflight
