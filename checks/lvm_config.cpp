// SPDX-License-Identifier: MIT
// lvm.config: LVM reads its configuration before anything else. A file that it cannot read fails
// every lvm command, in the initramfs (which holds a copy) and in the real root.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

bool breaks_lvm(const Error& error) {
  return error.kind == ErrorKind::malformed || error.kind == ErrorKind::wrong_type;
}

Finding& finding_for(std::vector<Finding>& findings, const std::string& path) {
  for (Finding& finding : findings)
    if (finding.subject == path) return finding;
  findings.emplace_back();
  findings.back().subject = path;
  findings.back().status = Status::skip;  // below every verdict until one is given
  return findings.back();
}

void add_error(std::vector<Finding>& findings, const Error& error) {
  Finding& finding = finding_for(findings, error.path);
  finding.evidence.push_back({error.path, error.line, printable(error.what), ""});
  if (breaks_lvm(error)) {
    finding.status = Status::fail;
    finding.summary =
        "LVM cannot read its configuration: every lvm command fails, so no volume group is "
        "activated at boot.";
    finding.remedy = Remedy{
        "",
        "Correct the line, or put the packaged file back; then rebuild the initramfs, which holds "
        "a copy of it.",
        {"lvmconfig", "--validate"}};
  } else if (finding.status != Status::fail) {
    finding.status = Status::unknown;
    finding.summary = "This part of LVM's configuration could not be examined.";
  }
}

void add_note(std::vector<Finding>& findings, const Error& note) {
  Finding& finding = finding_for(findings, note.path);
  finding.evidence.push_back({note.path, note.line, printable(note.what), ""});
  if (finding.status != Status::skip) return;
  finding.status = Status::warn;
  finding.summary =
      "LVM reads this file, but not every line of it does what it seems to: settings are written "
      "twice or in a section where LVM ignores them.";
  finding.remedy = Remedy{"", "Keep one line for each setting, inside devices { }.", {}};
}

Finding all_right(const LvmFacts& lvm) {
  Finding finding;
  finding.status = Status::pass;
  finding.subject = lvm.files.empty() ? lvm.system_dir : lvm.files.front().path;
  finding.summary = lvm.files.empty()
                        ? "There is no LVM configuration file: LVM uses its built-in defaults."
                        : "LVM can read its configuration.";
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  const LvmFacts& lvm = facts.lvm;
  if (!lvm.installed) {
    Finding finding;
    finding.status = Status::skip;
    finding.subject = lvm.system_dir;
    finding.summary = "LVM is not installed.";
    return {finding};
  }
  std::vector<Finding> findings;
  for (const Error& error : lvm.errors) add_error(findings, error);
  for (const Error& note : lvm.notes) add_note(findings, note);
  if (findings.empty()) findings.push_back(all_right(lvm));
  return findings;
}

}  // namespace

extern const Check lvm_config_check{"lvm.config", "LVM can read its configuration", run_check};

}  // namespace preflight
