// SPDX-License-Identifier: MIT
// A host-only image holds the drivers of the hardware that is there while it is made: on a guest
// with virtio disks alone, no nvme (R8 dracut-install.c:1320, R9:1639, R10:1881).
#include <fmt/format.h>

#include "agent/check.h"
#include "agent/facts/dracut_image.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::string_view main_file = "/etc/dracut.conf";
constexpr std::string_view variable_name = "hostonly";

Finding finding_about(std::string subject, Status status, std::string summary) {
  Finding finding;
  finding.subject = std::move(subject);
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
}

Finding not_collected(const Error& error) {
  if (error.kind == ErrorKind::missing)
    return finding_about(error.path, Status::skip,
                         "There is no dracut here, so none of its settings can keep nvme out.");
  Finding finding =
      finding_about(error.path, Status::unknown,
                    "Whether dracut makes images for this very hardware only could not be told: " +
                        printable(error.message()));
  finding.evidence.push_back({error.path, error.line, error.what, "a plain assignment"});
  finding.remedy =
      Remedy{"",
             "Write this file as plain assignments, or run nvme-preflight in the guest "
             "itself as root: there the guest's own bash evaluates it.",
             {}};
  return finding;
}

/// Assignments that say something other than yes and are overridden, and lines that were meant to.
void add_overridden(const DracutConfig& config, const DracutVariable& variable, Finding& finding) {
  const std::size_t deciding = deciding_assignments(variable).size();
  for (std::size_t i = 0; i + deciding < variable.assignments.size(); ++i) {
    const Assignment& assignment = variable.assignments[i];
    if (assignment.value == "yes") continue;
    finding.evidence.push_back({assignment.path, assignment.line,
                                assignment_text(variable_name, assignment) + ", overridden later",
                                ""});
    if (assignment.path == main_file)
      finding.summary += fmt::format(
          " {} says {}, but dracut reads that file first and {} overrides it.",
          place_of(assignment), assignment.value.empty() ? "nothing" : printable(assignment.value),
          place_of(variable.assignments.back()));
  }
  for (const Error& note : config.notes)
    if (note.line > 0 && note.what.find(variable_name) != std::string::npos)
      finding.evidence.push_back({note.path, note.line, note.what, ""});
}

void add_deciding(const DracutVariable& variable, Finding& finding) {
  for (const Assignment& assignment : deciding_assignments(variable))
    finding.evidence.push_back({assignment.path, assignment.line,
                                assignment_text(variable_name, assignment), "hostonly=\"no\""});
}

Finding not_forced(const DracutConfig& config, const DracutVariable& variable) {
  Finding finding = finding_about(
      variable.assignments.back().path, Status::fail,
      "dracut makes images with the drivers of the hardware that is present while it runs "
      "(hostonly), and nothing adds nvme: every image built before the switch, that of the next "
      "kernel update too, will not find its disk on NVMe.");
  add_deciding(variable, finding);
  add_overridden(config, variable, finding);
  finding.remedy = Remedy{"dracut-drop-in",
                          "Write /etc/dracut.conf.d/zz-nvme-preflight.conf with hostonly=\"no\", "
                          "then build the images anew.",
                          {"nvme-preflight", "--fix"}};
  return finding;
}

Finding forced(const DracutVariable& variable, const DracutRehearsal& rehearsal) {
  Finding finding = finding_about(
      variable.assignments.back().path, Status::warn,
      "dracut makes host-only images, but nvme is added to each by name. That boots on NVMe; it "
      "gives up what a generic image has besides: drivers for any other controller, and for the "
      "old one too once an image has been built after the switch.");
  add_deciding(variable, finding);
  for (const Assignment& assignment : rehearsal.forced_by)
    finding.evidence.push_back({assignment.path, assignment.line, assignment.value, ""});
  finding.remedy =
      Remedy{"",
             "Nothing has to be done for the switch. For generic images set hostonly=\"no\" in a "
             "file of /etc/dracut.conf.d that sorts last.",
             {}};
  return finding;
}

Finding generic(const DracutVariable* variable) {
  if (variable == nullptr || variable->assignments.empty())
    return finding_about("/etc/dracut.conf.d", Status::pass,
                         "Nothing sets hostonly, so dracut makes images for any hardware.");
  const Assignment& last = variable->assignments.back();
  Finding finding = finding_about(last.path, Status::pass, "dracut makes images for any hardware.");
  finding.evidence.push_back({last.path, last.line, assignment_text(variable_name, last), ""});
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  const DracutTarget target = dracut_target(facts);
  if (nvme_is_builtin(target))
    return {finding_about(target.newest->directory + "/modules.builtin", Status::pass,
                          "The newest kernel has nvme built in: no image has to hold it.")};
  if (!facts.dracut) return {not_collected(facts.dracut.error())};
  const DracutConfig& config = *facts.dracut;
  const DracutVariable* variable = config.find(variable_name);
  if (!config.hostonly() || variable == nullptr || variable->assignments.empty())
    return {generic(variable)};
  const DracutRehearsal rehearsal = rehearse_dracut(config, target);
  return {rehearsal.forced ? forced(*variable, rehearsal) : not_forced(config, *variable)};
}

}  // namespace

extern const Check dracut_hostonly_check{"dracut.hostonly", "dracut's images are for any hardware",
                                         run_check};

}  // namespace preflight
