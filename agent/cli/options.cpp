// SPDX-License-Identifier: MIT
#include "agent/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>
#include <vector>

#include "agent/report/report.h"

namespace preflight {

namespace {

constexpr int usage_error = 2;
constexpr int most_jobs = 64;
constexpr int most_kept_runs = 1000;
constexpr int longest_time_limit = 24 * 60 * 60;  // seconds

constexpr const char* description =
    "Rehearses the boot of this Rocky Linux (EL 8/9/10) guest for the day its disk is switched "
    "from "
    "virtio-blk to NVMe, and repairs what would stop it.";

constexpr const char* footer = R"(Exit codes:
  0  ready (after --fix: fixed and checked again)
  1  not ready
  2  usage error
  3  could not tell
  4  refused, nothing was changed
  5  the fix failed, everything was put back
  6  something could not be put back
 70  internal error)";

/// The options as a man page lists them: what excludes what is said when it is tried.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type;
  }
};

void exclude_each_other(const std::vector<CLI::Option*>& modes) {
  for (CLI::Option* mode : modes)
    for (CLI::Option* other : modes)
      if (other != mode) mode->excludes(other);
}

void add_modes(CLI::App& app, Options& options, bool& check, bool& fix, bool& runs) {
  auto* check_flag = app.add_flag("--check", check, "report; change nothing (the default)");
  auto* fix_flag = app.add_flag("--fix", fix, "repair and verify, or put everything back");
  auto* undo = app.add_option_function<std::string>(
      "--undo",
      [&options](const std::string& run) {
        if (!run.empty()) options.run = run;
      },
      "put a run's files back, byte for byte (the newest run when RUN is not given)");
  undo->type_name("[RUN]")->expected(0, 1);
  auto* explain = app.add_option_function<std::string>(
      "--explain",
      [&options](const std::string& id) {
        if (!id.empty()) options.explain = id;
      },
      "what a check means, why it matters, how to mend it (all in a line each when CHECK is not "
      "given)");
  explain->type_name("[CHECK]")->expected(0, 1);
  auto* runs_flag = app.add_flag("--runs", runs, "list the runs of --fix");
  auto* measure = app.add_option_function<std::string>(
      "--measure",
      [&options](const std::string& directory) {
        if (!directory.empty()) options.directory = directory;
      },
      "sync-write latency in DIR (/var/lib when it is not given), and what it was before");
  measure->type_name("[DIR]")->expected(0, 1);
  auto* verify = app.add_flag_callback(
      "--verify", [&options] { options.mode = Mode::verify; },
      "after the switch: what was promised is what happened");
  auto* finish = app.add_flag_callback(
      "--finish", [&options] { options.mode = Mode::finish; },
      "after the switch: put back to use what --fix had to switch off for it (LVM's devices file)");
  exclude_each_other({check_flag, fix_flag, undo, runs_flag, explain, measure, verify, finish});
  auto* kernel = app.add_option("--kernel", options.kernel,
                                "with --check: judge the entries of this kernel, as if they were "
                                "the default");
  kernel->type_name("VERSION");
  for (CLI::Option* mode : {fix_flag, undo, runs_flag, explain, measure, verify, finish})
    kernel->excludes(mode);
  app.add_flag("--dry-run", options.dry_run,
               "with --fix and --finish: say what would be done, do nothing");
  app.add_flag("--diff", options.diff, "with --fix and --finish: show the edits as a diff");
  app.add_flag(
         "--keep-hostonly", options.keep_hostonly,
         "with --fix: leave host-only images host-only and force nvme into them: smaller, but "
         "they boot from no controller but NVMe and virtio-blk")
      ->needs(fix_flag);
  app.add_option(
         "--keep", options.keep,
         "with --fix: of how many runs to keep the backups (5); older ones go when this run "
         "has ended well")
      ->type_name("N")
      ->check(CLI::Range(1, most_kept_runs).description(""))
      ->needs(fix_flag);
  app.add_flag("--force", options.force,
               "with --undo: put back files that somebody changed since as well (what is there now "
               "is kept in the run's folder)")
      ->needs(undo);
  app.add_option_function<int>(
         "--time-limit",
         [&options](int seconds) { options.time_limit = std::chrono::seconds(seconds); },
         "with --fix: how long dracut may take for one image (900)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, longest_time_limit).description(""))
      ->needs(fix_flag);
}

void add_common(CLI::App& app, Options& options) {
  app.add_option("--root", options.root, "a mounted or copied guest tree instead of this system")
      ->type_name("DIR");
  app.add_option("--lsblk", options.lsblk_file,
                 "the guest's block devices, as `lsblk --json --bytes --output-all` printed them")
      ->type_name("FILE");
  app.add_option("--jobs", options.jobs,
                 "how many images --fix builds at a time (one for each core, as memory allows)")
      ->type_name("N")
      ->check(CLI::Range(1, most_jobs).description(""));
  app.add_flag("--json", options.json, "report as JSON (schema nvme-preflight/report/1)");
  app.add_option("--only", options.selection.only, "run only these checks")
      ->type_name("ID,..")
      ->delimiter(',');
  app.add_option("--skip", options.selection.skip, "leave these checks out")
      ->type_name("ID,..")
      ->delimiter(',');
  app.add_flag("--strict", options.strict, "a warning counts as a fail");
  app.add_option("--color", options.color, "colours: auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  app.add_flag("--quiet", options.quiet, "only what blocks, and the verdict");
  app.add_flag("--verbose", options.verbose, "the evidence of every finding");
}

Answered answer(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  return {code == 0 ? 0 : usage_error, out.str(), err.str()};
}

}  // namespace

std::variant<Options, Answered> parse_options(int argc, const char* const* argv) {
  Options options;
  bool check = false;
  bool fix = false;
  bool runs = false;
  CLI::App app(description, "nvme-preflight");
  app.footer(footer);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", fmt::format("nvme-preflight {}", version()));
  add_modes(app, options, check, fix, runs);
  add_common(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return answer(app, error);
  }
  if (fix) options.mode = Mode::fix;
  if (app.count("--undo") > 0) options.mode = Mode::undo;
  if (runs) options.mode = Mode::runs;
  if (app.count("--explain") > 0) options.mode = Mode::explain;
  if (app.count("--measure") > 0) options.mode = Mode::measure;
  const bool changes = options.mode == Mode::fix || options.mode == Mode::finish;
  if ((options.dry_run || options.diff) && !changes)
    return Answered{usage_error, "",
                    "nvme-preflight: --dry-run and --diff go with --fix and --finish\n"};
  if (const std::string id = unknown_check(options.selection); !id.empty())
    return Answered{usage_error, "", fmt::format("nvme-preflight: no check is called '{}'\n", id)};
  if (selects_nothing(options.selection))
    return Answered{usage_error, "", "nvme-preflight: --only and --skip leave no check to run\n"};
  return options;
}

}  // namespace preflight
