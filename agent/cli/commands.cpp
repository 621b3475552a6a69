// SPDX-License-Identifier: MIT
#include "agent/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <set>
#include <utility>

#include "agent/facts/boot_default_kernel.h"
#include "agent/formats/json.h"
#include "agent/formats/text.h"
#include "agent/guest/open_guest.h"
#include "agent/measure/measure.h"
#include "agent/report/explain.h"
#include "agent/report/measure_text.h"
#include "agent/transaction/run_folder.h"
#include "agent/transaction/transaction.h"
#include "checks/list.h"

namespace preflight {

namespace {

constexpr int usage_error = 2;
constexpr int could_not_tell = 3;
constexpr int refused = 4;

/// Lines stay lines; what else they hold is made safe.
std::string complaint(std::string_view text) {
  std::string out;
  for (const std::string_view line : split_lines(text))
    out += fmt::format("{}{}\n", out.empty() ? "nvme-preflight: " : "  ", printable(line));
  return out;
}

struct Examined {
  Facts facts;
  std::vector<Finding> findings;
};

/// What --verify and --finish look at beyond the facts of a check.
void collect_after_switch(const Guest& guest, Facts& facts) {
  std::vector<std::string> paths;
  for (const LvmFile& file : facts.lvm.files) paths.push_back(file.path);
  facts.running = collect_running(guest);
  facts.finishing = collect_finishing(guest, facts.lvm, facts.storage, facts.running,
                                      texts_before_runs(guest.root, paths));
}

bool is_after_switch(Mode mode) {
  return mode == Mode::verify || mode == Mode::finish;
}

Examined examine(const Guest& guest, const Options& options, const Surface& surface) {
  const bool after = is_after_switch(options.mode);
  Examined out;
  out.facts = collect_facts(guest, surface.progress);
  if (options.kernel && out.facts.boot)
    out.facts.boot = with_default_kernel(std::move(*out.facts.boot), *options.kernel);
  if (after) collect_after_switch(guest, out.facts);
  out.findings =
      run_checks(after ? after_switch_checks() : all_checks(), out.facts, options.selection);
  return out;
}

Report report_of(const Examined& examined, const Options& options) {
  Report report;
  report.findings = examined.findings;
  report.partial = !options.selection.is_everything();
  report.after_switch = is_after_switch(options.mode);
  report.verdict = judge(report.findings, options.strict);
  report.exit_code = exit_code_of(report.verdict);
  return report;
}

Reply render(const Facts& facts, const Report& report, const Options& options,
             const Surface& surface) {
  Reply reply;
  reply.exit_code = report.exit_code;
  reply.out = options.json ? json_report(facts, report) : text_report(facts, report, surface.style);
  return reply;
}

/// The line for the system's log: what was done to which guest, and where to read more.
std::string log_line(const Guest& guest, std::string_view mode, const FixOutcome& outcome) {
  if (outcome.state == FixOutcome::State::nothing_to_do) return {};
  std::string line = fmt::format("{} of {}: {} (exit code {})", mode, printable(guest.path),
                                 to_string(outcome.state), outcome.exit_code);
  if (!outcome.run.empty()) line += fmt::format(", run {}/{}", runs_path, outcome.run);
  for (const std::string& path : outcome.changed) line += " " + printable(path);
  return line;
}

FixReport fix_report(const FixOutcome& outcome) {
  return {outcome.run, std::string(to_string(outcome.state)), outcome.changed, outcome.message, {}};
}

std::string notice(const Guest& guest) {
  const std::string text = unfinished_notice(guest);
  return text.empty() ? text : complaint(text);
}

Reply check(const Guest& guest, const Options& options, const Surface& surface) {
  const Examined examined = examine(guest, options, surface);
  Reply reply = render(examined.facts, report_of(examined, options), options, surface);
  reply.err = notice(guest);
  return reply;
}

std::set<std::string> checks_to_mend(const std::vector<Finding>& findings) {
  std::set<std::string> checks;
  for (const Finding& finding : findings)
    if (is_fixable(finding)) checks.insert(finding.check);
  return checks;
}

/// The reasons for a fix that remain: a check that asked for it still asks, or cannot tell any
/// more.
std::vector<std::string> remaining_reasons(const std::set<std::string>& asked,
                                           const std::vector<Finding>& findings) {
  std::vector<std::string> reasons;
  for (const Finding& finding : findings) {
    if (asked.contains(finding.check) && (is_fixable(finding) || finding.status == Status::unknown))
      reasons.push_back(fmt::format("{} {}: {}", finding.check, finding.subject, finding.summary));
  }
  return reasons;
}

std::vector<std::string> lines_of(std::string_view text) {
  const std::vector<std::string_view> lines = split_lines(text);
  return {lines.begin(), lines.end()};
}

ShownEdits shown_edits(const Options& options) {
  if (!options.diff) return ShownEdits::none;
  return options.json ? ShownEdits::edited_lines : ShownEdits::with_context;
}

/// The plan on stdout; with --json the report with the plan in it.
Reply show_plan(const Examined& examined, const std::vector<Step>& plan, const Options& options,
                const Surface& surface) {
  Report report = report_of(examined, options);
  const std::string text = describe_plan(plan, shown_edits(options));
  if (options.json) {
    report.fix = FixReport{"", "nothing-to-do", {}, "", lines_of(text)};
    return render(examined.facts, report, options, surface);
  }
  return {report.exit_code, plan.empty() ? "nothing to do\n" : text, ""};
}

Reply refuse(const Examined& examined, const std::string& why, const Options& options,
             const Surface& surface) {
  Report report = report_of(examined, options);
  report.fix = FixReport{"", "refused", {}, why, {}};
  report.exit_code = refused;
  return render(examined.facts, report, options, surface);
}

bool stays_hostonly(const Facts& facts) {
  return facts.dracut && facts.dracut->hostonly();
}

/// What this run is to mend: --fix all that it can, --finish what is its own.
std::vector<Finding> to_mend(const Examined& examined, const Options& options) {
  if (options.mode != Mode::finish) return examined.findings;
  std::vector<Finding> mine;
  std::copy_if(examined.findings.begin(), examined.findings.end(), std::back_inserter(mine),
               is_finished_with);
  return mine;
}

Result<std::vector<Step>> plan_of(const Examined& examined, const Options& options) {
  const auto fault =
      std::find_if(examined.findings.begin(), examined.findings.end(),
                   [](const Finding& finding) { return finding.status == Status::fail; });
  if (options.mode == Mode::finish && fault != examined.findings.end())
    return fail(ErrorKind::unsupported, fault->subject,
                fmt::format("{} fails: only a guest that came over as was promised is finished",
                            fault->check));
  return plan_fixes(examined.facts, to_mend(examined, options), options.keep_hostonly);
}

/// What a run that went well means for the administrator, beyond what was changed.
std::string consequence(const Options& options, const Report& report, const Facts& facts) {
  std::string out;
  if (options.mode == Mode::finish)
    return "\nLVM knows the NVMe disk alone now: before the disk goes back to the old controller, "
           "put this run back with --undo.";
  if (options.keep_hostonly && stays_hostonly(facts))
    out +=
        "\n--keep-hostonly: images hold nvme, virtio_blk and what this very hardware needs. Given "
        "up is every other controller: they do not boot from SCSI, SATA or another hypervisor's "
        "disk.";
  if (report.verdict != Verdict::ready)
    out += "\nWhat was asked for is mended; what the report still names is not.";
  return out;
}

Reply fix(const Guest& guest, const Options& options, const Surface& surface) {
  if (!options.dry_run) {
    const TransactionPorts ports =
        real_ports(guest, nullptr, nullptr, surface.progress, surface.stop);
    const FixOutcome recovered = recover(guest, ports);
    if (recovered.exit_code != 0) return {recovered.exit_code, "", complaint(recovered.message)};
  }
  Examined examined = examine(guest, options, surface);
  const Result<std::vector<Step>> plan = plan_of(examined, options);
  if (!plan) return refuse(examined, plan.error().message(), options, surface);
  if (options.dry_run) {
    Reply reply = show_plan(examined, *plan, options, surface);
    reply.err += notice(guest);
    return reply;
  }

  const std::set<std::string> asked = checks_to_mend(to_mend(examined, options));
  Examined fresh;
  bool checked_again = false;
  const auto recheck = [&] {
    fresh = examine(guest, options, surface);
    checked_again = true;
    return remaining_reasons(asked, fresh.findings);
  };
  TransactionPorts ports =
      real_ports(guest, &examined.facts, recheck, surface.progress, surface.stop);
  ports.build_timeout = options.time_limit;
  ports.jobs = options.jobs;
  ports.keep_runs = options.keep;
  ports.command = options.mode == Mode::finish ? "--finish" : "--fix";
  if (asked.contains("dracut.hostonly") && !options.keep_hostonly)
    ports.smaller_images =
        "use --fix --keep-hostonly, which forces nvme into host-only images instead of building "
        "larger ones for any hardware, and gives up every other controller";
  const FixOutcome outcome = apply(guest, *plan, ports);

  const bool as_fixed = outcome.state == FixOutcome::State::applied && checked_again;
  const Examined& shown = as_fixed ? fresh : examined;
  Report report = report_of(shown, options);
  report.fix = fix_report(outcome);
  if (options.diff) report.fix->plan = lines_of(describe_plan(*plan, shown_edits(options)));
  if (as_fixed) report.fix->message += consequence(options, report, fresh.facts);
  if (outcome.exit_code != 0) report.exit_code = outcome.exit_code;
  Reply reply = render(shown.facts, report, options, surface);
  reply.log = log_line(guest, ports.command, outcome);
  return reply;
}

bool root_is_on_nvme(const Facts& facts) {
  const std::optional<std::size_t> root =
      facts.storage ? facts.storage->mounted_at("/") : std::nullopt;
  if (!root) return false;
  const std::vector<std::size_t> disks = facts.storage->disks_under(*root);
  return std::any_of(disks.begin(), disks.end(),
                     [&](std::size_t disk) { return facts.storage->devices[disk].is_nvme(); });
}

Reply put_back(const Guest& guest, const Options& options, const Surface& surface) {
  const TransactionPorts ports =
      real_ports(guest, nullptr, nullptr, surface.progress, surface.stop);
  FixOutcome outcome = undo(guest, options.run, ports, options.force ? Force::yes : Force::no);
  const Examined examined = examine(guest, options, surface);
  if (!outcome.changed.empty() && root_is_on_nvme(examined.facts))
    outcome.message +=
        "\nThis guest's disk is NVMe now, and what was put back is for the old controller: change "
        "the disk back on the host before the next boot, or run nvme-preflight --fix again.";
  Report report = report_of(examined, options);
  report.fix = fix_report(outcome);
  report.exit_code = outcome.exit_code;
  Reply reply = render(examined.facts, report, options, surface);
  reply.log = log_line(guest, "--undo", outcome);
  return reply;
}

Json run_json(const RunInfo& run) {
  Json::Array changed;
  for (const std::string& path : run.changed) changed.emplace_back(printable(path));
  return Json::Object{{"run", printable(run.run)},
                      {"state", to_string(run.state)},
                      {"time", printable(run.time)},
                      {"changed", std::move(changed)},
                      {"error", run.error.empty() ? Json() : Json(printable(run.error))}};
}

Reply runs(const Guest& guest, const Options& options) {
  const Result<std::vector<RunInfo>> all = list_runs(guest.root);
  if (!all) return {could_not_tell, "", complaint(all.error().message())};
  if (options.json) {
    Json::Array list;
    for (const RunInfo& run : *all) list.push_back(run_json(run));
    return {
        0,
        dump_json(Json::Object{{"schema", "nvme-preflight/runs/1"}, {"runs", std::move(list)}}, 2) +
            "\n",
        ""};
  }
  std::string out;
  for (const RunInfo& run : *all) {
    out += fmt::format("{}  {}", printable(run.run), to_string(run.state));
    for (const std::string& path : run.changed) out += "  " + printable(path);
    out += run.error.empty() ? "\n" : fmt::format("  {}\n", printable(run.error));
  }
  return {0, out.empty() ? "no runs\n" : out, ""};
}

Reply measure_sync_writes(const Guest& guest, const Options& options, const Surface& surface) {
  const Result<MeasureRecord> now = measure(guest, collect_storage(guest), options.directory,
                                            SyncLimits{}, std::time(nullptr), surface.stop);
  if (!now) {
    const bool failed = now.error().kind == ErrorKind::io;
    return {failed ? could_not_tell : refused, "", complaint(now.error().message())};
  }
  const std::vector<MeasureRecord> earlier = stored_measurements(guest);
  const MeasureRecord* before = find_before(earlier, *now);
  Reply reply;
  reply.out = options.json ? measure_json(*now, before) : measure_text(*now, before);
  if (const Result<void> stored = store_measurement(guest, *now); !stored)
    reply.err = complaint("not stored for later comparison: " + stored.error().message());
  return reply;
}

Reply explain_check(const Options& options, const Surface& surface) {
  if (!options.explain && !options.json) return {0, explain_all(), ""};
  if (const auto text = options.json ? explain_json(options.explain)
                                     : explain(*options.explain, surface.style.width))
    return {0, *text, ""};
  return {usage_error, "", complaint(fmt::format("no check is called '{}'", *options.explain))};
}

}  // namespace

Reply execute(const Options& options, const Surface& surface) {
  if (options.mode == Mode::explain) return explain_check(options, surface);
  const Result<Guest> guest = open_guest(options.root, options.lsblk_file);
  if (!guest) return {usage_error, "", complaint(guest.error().message())};
  switch (options.mode) {
    case Mode::fix:
    case Mode::finish:
      return fix(*guest, options, surface);
    case Mode::undo:
      return put_back(*guest, options, surface);
    case Mode::runs:
      return runs(*guest, options);
    case Mode::measure:
      return measure_sync_writes(*guest, options, surface);
    default:
      return check(*guest, options, surface);
  }
}

}  // namespace preflight
