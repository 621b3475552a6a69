// SPDX-License-Identifier: MIT
// Carrying out a fix so that it cannot hurt.
//
//   steps (agent/step.h)
//     |
//   preconditions          prepare.h: every file as the plan saw it, writable, room for an image of
//     |                    the old one's size. Nothing has been touched: a refusal leaves no trace
//   lock                   guest/lock.h, then the preconditions once more
//     |
//   run folder             run_folder.h: /var/lib/nvme-preflight/<run>/
//     |
//   staging                staging.h: dracut builds every image into <run>/staging/, seeing the
//     |                    planned edits; each is read back and verified (verify.h)
//   space, real sizes      still nothing changed: on any failure the run folder is removed
//     |
//   journal                journal.h: written ahead of everything below
//     |
//   backups -> edits -> images, one by one, each beside the old one and renamed (guest/writer.h)
//     |
//   fresh check            ports.recheck: collects facts anew
//     |
//   committed              or, after a failure, a signal or a reason that remains: put back
//                          (restore.h), "undone"
//
// A run whose journal says neither "committed" nor "undone" was interrupted. recover() puts it
// back; nothing else is done to the guest before that.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/facts.h"
#include "agent/guest/chroot.h"
#include "agent/guest/command.h"
#include "agent/guest/guest.h"
#include "agent/guest/writer.h"
#include "agent/progress.h"
#include "agent/result.h"
#include "agent/step.h"
#include "agent/transaction/restore.h"

namespace preflight {

/// What the transaction needs from outside. real_ports() wires the real ones; tests inject others.
struct TransactionPorts {
  /// Runs the guest's dracut (live: directly, else in a chroot).
  std::function<Result<CommandOutput>(const Command& command, const std::vector<Overlay>& overlays,
                                      const StopAsked& stop_asked)>
      run_dracut;

  /// Reads an image file of the guest.
  std::function<Result<Image>(const std::string& path)> read_image;

  /// What is wrong with a new image, in words; empty when it may take the old one's place. `old` is
  /// nullptr when there was none that could be read.
  std::function<std::vector<std::string>(const Image* old, const Image& fresh,
                                         const BuildImage& step)>
      verify;

  /// Checks again, from fresh facts: the reasons for this fix that remain; empty when it helped.
  std::function<std::vector<std::string>()> recheck;

  std::function<std::time_t()> now;
  ProgressSink progress;

  /// What the run is called in its log and its lock.
  std::string_view command = "--fix";

  /// Free space at an opened directory.
  std::function<Result<Space>(int directory, const std::string& path)> space;

  /// True once SIGINT or SIGTERM came: everything is put back. May be nullptr.
  const std::atomic<bool>* stop = nullptr;
  bool stopped() const { return stop && *stop; }

  /// An error once that signal came.
  Result<void> go_on() const {
    if (stopped()) return fail(ErrorKind::io, "", "stopped by a signal");
    return {};
  }

  /// The devices file that lvm2 will rename once it is switched off (LvmFacts).
  std::string devices_file = "/etc/lvm/devices/system.devices";

  std::chrono::seconds build_timeout{15 * 60};

  /// How many images are built at a time; 0: as many as there are cores and memory for.
  std::size_t jobs = 0;

  /// Of how many finished runs the backups are kept.
  std::size_t keep_runs = 5;

  /// How to get smaller images, in words, for where there is no room; "" if there is no such way.
  std::string smaller_images;
};

/// The real ports. `facts` (what the plan was made from; nullptr when no image is to be built) and
/// what `recheck` and `progress` refer to must outlive them.
TransactionPorts real_ports(const Guest& guest, const Facts* facts,
                            std::function<std::vector<std::string>()> recheck,
                            ProgressSink progress, const std::atomic<bool>* stop);

struct FixOutcome {
  enum class State { applied, undone, refused, nothing_to_do };

  std::string run;  // "" when there is none
  State state = State::nothing_to_do;
  /// 0, 4 refused and nothing changed, 5 failed and everything put back, 6 something could not be
  /// put back (`state` is then `applied`: changes of the run are still in the guest).
  int exit_code = 0;
  std::vector<std::string> changed;  // guest paths, as they are on disk now
  std::string message;               // for a person; may have several lines
};

/// The texts that those files had before the runs that are still in force changed them (the oldest
/// run counts), by path. What cannot be read is left out.
std::map<std::string, std::string> texts_before_runs(const Root& root,
                                                     const std::vector<std::string>& paths);

/// "applied", "undone", "refused", "nothing-to-do": the words of the report.
std::string_view to_string(FixOutcome::State state);

/// Carries out the steps, all or none. Refuses while an interrupted run is not put back: call
/// recover() before collecting the facts the steps are planned from.
FixOutcome apply(const Guest& guest, const std::vector<Step>& steps, const TransactionPorts& ports);

/// Puts back the run that was interrupted, if there is one; `nothing_to_do` if not.
FixOutcome recover(const Guest& guest, const TransactionPorts& ports);

/// Puts back a run: the given one; else the interrupted one; else the last that is applied. All of
/// it or, when anything speaks against that (restore.h), nothing.
FixOutcome undo(const Guest& guest, const std::optional<std::string>& run,
                const TransactionPorts& ports, Force force = Force::no);

struct RunInfo {
  enum class State { applied, undone, interrupted, damaged };

  std::string run;
  State state = State::damaged;
  std::string time;                  // ISO 8601, UTC
  std::vector<std::string> changed;  // guest paths the run placed
  std::string error;                 // when damaged
};

std::string_view to_string(RunInfo::State state);

/// All runs, oldest first.
Result<std::vector<RunInfo>> list_runs(const Root& root);

/// The run whose journal says neither "committed" nor "undone", the oldest if several. Error: a
/// journal that cannot be read, so that nobody can tell.
Result<std::optional<std::string>> find_unfinished_run(const Root& root);

/// What is to be known before anything about this guest is believed, in words: a run is at work,
/// was interrupted, or has a journal that nobody can read. "" when nothing of that kind is so.
std::string unfinished_notice(const Guest& guest);

/// What of the edits a plan shows, as a unified diff.
enum class ShownEdits {
  none,
  edited_lines,  // for what is stored and passed on: the lines beside them may hold secrets
  with_context,  // for who sits before a terminal
};

/// What apply() would do, for --dry-run. Safe to print.
std::string describe_plan(const std::vector<Step>& steps, ShownEdits shown);

}  // namespace preflight
