// SPDX-License-Identifier: MIT
#include "agent/transaction/transaction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "agent/formats/text.h"
#include "agent/guest/lock.h"
#include "agent/transaction/journal.h"
#include "agent/transaction/prepare.h"
#include "agent/transaction/restore.h"
#include "agent/transaction/run_folder.h"
#include "agent/transaction/run_log.h"
#include "agent/transaction/staging.h"

namespace preflight {

namespace {

constexpr int exit_refused = 4;
constexpr int exit_put_back = 5;
constexpr int exit_not_put_back = 6;

using State = FixOutcome::State;

FixOutcome refused(const Error& error) {
  return {"", State::refused, exit_refused, {}, error.message() + "\nNothing was changed."};
}

/// The folder of all runs with the lock on it: what every change to the guest begins with.
struct Hold {
  RunsFolder runs;
  Lock lock;
};

Result<Hold> take_hold(const Root& root, const TransactionPorts& ports, std::string_view mode) {
  Result<RunsFolder> runs = RunsFolder::ensure(root);
  if (!runs) return tl::unexpected(runs.error());
  Result<Folder> folder = Folder::open(root, runs_path);
  if (!folder) return tl::unexpected(folder.error());
  Result<Lock> lock = Lock::acquire(std::move(folder->fd), runs_path,
                                    fmt::format("nvme-preflight {}, pid {}, since {}\n", mode,
                                                ::getpid(), utc_time(ports.now())));
  if (!lock) return tl::unexpected(lock.error());
  return Hold{std::move(*runs), std::move(*lock)};
}

Result<Folder> open_run(const Root& root, const std::string& run) {
  return Folder::open(root, fmt::format("{}/{}", runs_path, run));
}

std::vector<std::string> placed_paths(const RunRecord& record) {
  std::vector<std::string> paths;
  for (const FileRecord& file : record.files)
    if (file.placed) paths.push_back(file.path);
  return paths;
}

std::string lines_of(const std::vector<Error>& errors) {
  std::string out;
  for (const Error& error : errors) out += "\n  " + error.message();
  return out;
}

std::string lines_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += "\n  " + text;
  return out;
}

FixOutcome not_put_back(const Folder& folder, const RunRecord& record, const Restored& restored,
                        const std::string& because) {
  FixOutcome outcome{record.run, State::applied, exit_not_put_back, {}, ""};
  for (const Error& error : restored.failures) outcome.changed.push_back(error.path);
  outcome.message = fmt::format(
      "{}\nOf run {}, these could not be put back; the originals are in {}:{}\nRemove the cause "
      "and run nvme-preflight --undo again (--undo {} --force puts back what somebody changed "
      "since).",
      because, outcome.run, folder.path, lines_of(restored.failures), outcome.run);
  return outcome;
}

/// Puts a run back and says so in its journal. `because` begins the message; `exit_code` is what a
/// success is called.
FixOutcome put_back(const Root& root, const Folder& folder, Journal& journal,
                    const std::string& because, int exit_code, Force force) {
  Restored restored = restore(root, folder, journal.record(), force);
  if (!restored.failures.empty()) {
    // A passing error, or room that the first pass has made.
    Restored again = restore(root, folder, journal.record(), force);
    again.changed.insert(again.changed.begin(), restored.changed.begin(), restored.changed.end());
    again.notes.insert(again.notes.begin(), restored.notes.begin(), restored.notes.end());
    restored = std::move(again);
  }
  if (!restored.failures.empty()) return not_put_back(folder, journal.record(), restored, because);
  FixOutcome outcome{journal.record().run, State::undone, exit_code, restored.changed, ""};
  // Should this fail: all is back, and the next run finds that out for itself.
  (void)journal.append(state_event("undone"));
  if (restored.lost.empty()) {
    outcome.message = fmt::format("{}\nEverything that run {} changed is what it was before.{}",
                                  because, outcome.run, lines_of(restored.notes));
    return outcome;
  }
  outcome.exit_code = exit_not_put_back;
  outcome.message = fmt::format(
      "{}\nThese stay as they are:{}\nEverything else that run {} changed is what it was "
      "before.{}",
      because, lines_of(restored.lost), outcome.run, lines_of(restored.notes));
  return outcome;
}

/// Carries out one plan. Members are what exists from some phase on.
class Run {
 public:
  Run(const Guest& guest, TransactionPorts ports, Hold hold)
      : guest_(guest), ports_(std::move(ports)), hold_(std::move(hold)) {}

  FixOutcome carry_out(const Plan& plan) {
    FixOutcome outcome = work_through(plan);
    if (log_) log_->say(fmt::format("{}: {}", to_string(outcome.state), outcome.message));
    return outcome;
  }

 private:
  FixOutcome work_through(const Plan& plan) {
    if (auto done = open_folder(); !done) return nothing_changed(done.error(), exit_refused);
    Result<std::vector<StagedImage>> images = build_images(guest_, plan, *folder_, ports_);
    if (!images) return not_built(images.error());
    if (auto done = check_again(plan, *images); !done)
      return nothing_changed(done.error(), exit_refused);
    if (auto done = begin_journal(); !done) return nothing_changed(done.error(), exit_put_back);
    if (auto done = change(plan, *images); !done) return give_up(done.error().message());
    const std::vector<std::string> reasons = recheck();
    if (!reasons.empty())
      return give_up("after the fix the guest would still not be ready:" + lines_of(reasons));
    if (auto done = ports_.go_on(); !done) return give_up(done.error().message());
    if (auto done = check_still_ours(); !done) return give_up(done.error().message());
    if (auto done = journal_->append(state_event("committed")); !done)
      return give_up(done.error().message());
    return applied();
  }

  /// Removes all but the newest runs of a kind; returns the removed. Kinds are counted apart, so
  /// that failures push out no backup.
  std::vector<std::string> prune(const std::function<bool(const RunInfo&)>& is_of_kind) const {
    std::vector<std::string> removed;
    const Result<std::vector<RunInfo>> runs = list_runs(guest_.root);
    if (!runs) return removed;
    std::size_t kept = 0;
    for (auto run = runs->rbegin(); run != runs->rend(); ++run)
      if (is_of_kind(*run) && ++kept > ports_.keep_runs && discard_run(guest_.root, run->run))
        removed.push_back(run->run);
    return removed;
  }

  Result<void> open_folder() {
    Result<std::string> name = create_run(hold_.runs.folder(), ports_.now());
    if (!name) return tl::unexpected(name.error());
    run_ = *name;
    Result<Folder> folder = open_run(guest_.root, run_);
    if (!folder) return tl::unexpected(folder.error());
    folder_ = std::move(*folder);
    log_.emplace(*folder_, ports_.now);
    log_->say(fmt::format("nvme-preflight " PREFLIGHT_VERSION " {}", ports_.command));
    ports_.progress = log_->beside(ports_.progress);
    return {};
  }

  /// Building takes minutes, in which the guest may have moved on.
  Result<void> check_again(const Plan& plan, const std::vector<StagedImage>& images) {
    if (auto done = ports_.go_on(); !done) return done;
    std::vector<std::uint64_t> sizes;
    for (const StagedImage& image : images) sizes.push_back(image.digest.size);
    if (auto done = check_space(guest_.root, plan, ports_, sizes); !done) return done;
    for (const auto* targets : {&plan.edits, &plan.images})
      for (const Target& target : *targets)
        if (auto done = check_unchanged(guest_.root, target); !done) return done;
    return {};
  }

  Result<void> begin_journal() {
    RunRecord record;
    record.run = run_;
    record.tool = "nvme-preflight " PREFLIGHT_VERSION;
    record.time = utc_time(ports_.now());
    if (guest_.live)
      if (Result<std::string> id = guest_.root.read("/proc/sys/kernel/random/boot_id"))
        record.boot_id = printable(trim(*id));
    Result<Journal> journal = Journal::open(*folder_ / journal_name, {});
    if (!journal) return tl::unexpected(journal.error());
    journal_ = std::move(*journal);
    return journal_->append(begin_event(record));
  }

  Result<void> change(const Plan& plan, const std::vector<StagedImage>& images) {
    for (const auto* targets : {&plan.edits, &plan.images})
      for (const Target& target : *targets)
        if (auto done = back_up(target); !done) return done;
    if (auto done = watch_devices_file(); !done) return done;
    std::size_t file = 0;
    for (const Target& edit : plan.edits) {
      if (auto done = ports_.go_on(); !done) return done;
      if (auto done = apply_edit(edit, file++); !done) return done;
    }
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (auto done = ports_.go_on(); !done) return done;
      if (auto done = install(plan.images[i], images[i], file++); !done) return done;
    }
    return remove_tree(*folder_ / staging_name);
  }

  /// The file in the journal with its backup on disk; its index is that of the call.
  Result<void> back_up(const Target& target) {
    if (auto done = ports_.go_on(); !done) return done;
    FileRecord record;
    record.path = target.path;
    record.existed = target.existed;
    if (target.existed) {
      Result<OpenFile> file = open_regular(at(*target.place));
      if (!file) return tl::unexpected(file.error());
      Result<Attributes> attributes = read_attributes(file->fd.get(), target.path);
      if (!attributes) return tl::unexpected(attributes.error());
      record.attributes = std::move(*attributes);
      record.backup = fmt::format("backup-{}", journal_->record().files.size());
      Result<Digest> digest = copy(file->fd.get(), target.path, record.backup);
      if (!digest) return tl::unexpected(digest.error());
      record.original = *digest;
      if (auto done = check_unchanged(guest_.root, target); !done) return done;
    }
    return journal_->append(file_event(record));
  }

  /// Copies into the run folder and proves the copy.
  Result<Digest> copy(int fd, const std::string& path, const std::string& backup) {
    if (auto done = create_file(*folder_ / backup, bytes_of(fd, path)); !done)
      return tl::unexpected(done.error());
    Result<OpenFile> written = open_regular(*folder_ / backup);
    if (!written) return tl::unexpected(written.error());
    Result<bool> same = same_bytes(bytes_of(fd, path), bytes_of(written->fd.get(), backup));
    if (!same) return tl::unexpected(same.error());
    if (!*same) return fail(ErrorKind::io, path, "its backup does not read back as it is");
    return digest_of(bytes_of(written->fd.get(), backup));
  }

  Result<void> watch_devices_file() {
    Result<std::string> path = guest_.root.resolve(ports_.devices_file);
    Result<std::string> text = path ? guest_.root.read(*path) : path;
    if (!text && text.error().kind == ErrorKind::io) return tl::unexpected(text.error());
    if (!text) return {};  // missing, or nothing that LVM would read either
    const std::string backup = "backup-devices-file";
    if (auto done = create_file(*folder_ / backup, bytes_of(*text)); !done) return done;
    return journal_->append(devices_file_event({*path, backup}));
  }

  Result<void> create_directories(const Target& target) {
    for (const std::string& path : target.new_directories) {
      Result<Root::Place> place = guest_.root.place(path);
      if (!place) return tl::unexpected(place.error());
      Result<bool> there = is_there(at(*place));
      if (!there) return tl::unexpected(there.error());
      if (*there) continue;  // for another file of this run
      Result<Attributes> attributes = fresh_attributes(place->directory.get(), place->path, 0755);
      if (!attributes) return tl::unexpected(attributes.error());
      if (auto done = journal_->append(directory_event(path)); !done) return done;
      if (auto made = make_directory(at(*place), *attributes); !made)
        return tl::unexpected(made.error());
    }
    return {};
  }

  Result<void> apply_edit(const Target& target, std::size_t file) {
    if (auto done = check_unchanged_but_for_us(target); !done) return done;
    if (auto done = create_directories(target); !done) return done;
    Result<Digest> digest = digest_of(bytes_of(target.edit->after));
    if (!digest) return tl::unexpected(digest.error());
    return place_file(target, file, *digest,
                      [&] { return bytes_of(std::string_view(target.edit->after)); });
  }

  Result<void> install(const Target& target, const StagedImage& image, std::size_t file) {
    const Underway installing(ports_.progress, fmt::format("installing {}", target.path));
    if (auto done = check_unchanged(guest_.root, target); !done) return done;
    Result<Folder> staging = Folder::open(guest_.root, folder_->path + '/' + staging_name);
    if (!staging) return tl::unexpected(staging.error());
    Result<OpenFile> staged = open_regular(*staging / image.name);
    if (!staged) return tl::unexpected(staged.error());
    return place_file(target, file, image.digest,
                      [&] { return bytes_of(staged->fd.get(), image.path); });
  }

  /// A directory that another file of this run has needed is there by now.
  Result<void> check_unchanged_but_for_us(const Target& target) const {
    if (target.new_directories.empty()) return check_unchanged(guest_.root, target);
    if (guest_.root.exists(target.path))
      return fail(ErrorKind::io, target.path, "has appeared since the plan was made");
    return {};
  }

  /// Announces, writes beside, renames, reads back.
  Result<void> place_file(const Target& target, std::size_t file, const Digest& digest,
                          const std::function<ByteSource()>& content) {
    Result<Root::Place> place = guest_.root.place(target.path);
    if (!place) return tl::unexpected(place.error());
    if (place->path != target.path)
      return fail(ErrorKind::io, target.path, "is reached through a symbolic link now");
    const FileRecord& record = journal_->record().files[file];
    Result<Attributes> attributes = record.attributes;
    if (!record.existed)
      attributes = fresh_attributes(place->directory.get(), target.path,
                                    target.edit ? target.edit->mode : mode_t{0600});
    if (!attributes) return tl::unexpected(attributes.error());
    Result<std::string> kept = keep_placed(target, file, content());
    if (!kept) return tl::unexpected(kept.error());
    if (auto done = journal_->append(place_event(file, digest, *kept)); !done) return done;
    const auto last_look = [&] { return check_unchanged_but_for_us(target); };
    if (auto done = replace_file(at(*place), content(), *attributes, Bytes::changed, last_look);
        !done)
      return done;
    return read_back(at(*place), digest, content());
  }

  /// GRUB writes to its environment block at every boot: to tell that from what the run did to it,
  /// an undo needs what the run put there.
  Result<std::string> keep_placed(const Target& target, std::size_t file,
                                  const ByteSource& content) {
    if (!target.existed || !target.path.ends_with("/grubenv")) return std::string();
    std::string name = fmt::format("placed-{}", file);
    if (auto done = create_file(*folder_ / name, content); !done)
      return tl::unexpected(done.error());
    return name;
  }

  static Result<void> read_back(const At& there, const Digest& digest, const ByteSource& content) {
    Result<OpenFile> file = open_regular(there);
    if (!file) return tl::unexpected(file.error());
    Result<Digest> read = digest_of(bytes_of(file->fd.get(), there.path));
    if (!read) return tl::unexpected(read.error());
    Result<bool> same = same_bytes(bytes_of(file->fd.get(), there.path), content);
    if (!same) return tl::unexpected(same.error());
    if (!*same || *read != digest)
      return fail(ErrorKind::io, there.path, "does not read back as it was written");
    return {};
  }

  std::vector<std::string> recheck() const {
    const Underway checking(ports_.progress, "checking again, from the beginning");
    return ports_.recheck();
  }

  /// A package manager's dracut may have come between, with an image that the fresh check saw or
  /// did not see.
  Result<void> check_still_ours() const {
    for (const FileRecord& file : journal_->record().files) {
      Result<Root::Place> place = guest_.root.place(file.path);
      if (!place) return tl::unexpected(place.error());
      Result<OpenFile> open = open_regular(at(*place));
      if (!open) return tl::unexpected(open.error());
      Result<Digest> digest = digest_of(bytes_of(open->fd.get(), file.path));
      if (!digest) return tl::unexpected(digest.error());
      if (*digest != file.placed)
        return fail(ErrorKind::io, file.path,
                    "was changed by another program while this fix was at work");
    }
    return {};
  }

  /// Before the journal: the run folder is all there is to remove.
  FixOutcome nothing_changed(const Error& error, int exit_code) {
    FixOutcome outcome{"",
                       exit_code == exit_refused ? State::refused : State::undone,
                       exit_code,
                       {},
                       error.message() + "\nNothing was changed."};
    if (run_.empty()) return outcome;
    if (auto done = discard_run(guest_.root, run_); !done)
      outcome.message += fmt::format(
          "\nThe folder {}/{} could not be removed ({}); the next run "
          "will try again.",
          runs_path, run_, done.error().message());
    return outcome;
  }

  /// The run folder stays for what dracut said; the journal says that it changed nothing.
  FixOutcome not_built(const Error& error) {
    Result<std::vector<std::string>> names = guest_.root.list(folder_->path);
    const bool has_log = names && std::any_of(names->begin(), names->end(), is_dracut_log);
    const bool stopped = ports_.stop && *ports_.stop;
    if (!has_log || stopped || !remove_tree(*folder_ / staging_name) || !begin_journal() ||
        !journal_->append(state_event("undone")))
      return nothing_changed(error, exit_put_back);
    prune([](const RunInfo& run) {
      return run.state == RunInfo::State::undone && run.changed.empty();
    });
    return {run_,
            State::undone,
            exit_put_back,
            {},
            fmt::format("{}\nNothing was changed. What dracut said is in {}.", error.message(),
                        folder_->path)};
  }

  FixOutcome give_up(const std::string& why) {
    FixOutcome outcome = put_back(guest_.root, *folder_, *journal_, why, exit_put_back, Force::no);
    // A run that never got to its first file has nothing worth keeping.
    if (outcome.state == State::undone && placed_paths(journal_->record()).empty() &&
        discard_run(guest_.root, run_))
      outcome.run.clear();
    return outcome;
  }

  FixOutcome applied() const {
    FixOutcome outcome{run_, State::applied, 0, placed_paths(journal_->record()), ""};
    outcome.message = fmt::format("Fixed and checked again. Backups are in {}.", folder_->path);
    prune([](const RunInfo& run) { return run.state == RunInfo::State::undone; });
    for (const std::string& old :
         prune([](const RunInfo& run) { return run.state == RunInfo::State::applied; }))
      outcome.message += fmt::format(
          "\nThe backups of run {} are removed: those of {} newer runs are kept (--keep).", old,
          ports_.keep_runs);
    return outcome;
  }

  const Guest& guest_;
  TransactionPorts ports_;
  Hold hold_;
  std::string run_;
  std::optional<Folder> folder_;
  std::optional<RunLog> log_;
  std::optional<Journal> journal_;
};

Result<void> refuse_unfinished(const Root& root) {
  Result<std::optional<std::string>> unfinished = find_unfinished_run(root);
  if (!unfinished) return tl::unexpected(unfinished.error());
  if (*unfinished)
    return fail(ErrorKind::io, fmt::format("{}/{}", runs_path, **unfinished),
                "this run was interrupted and is to be put back first (nvme-preflight --undo)");
  return {};
}

/// Refuses while another run is at work, whose half-done state is none of ours to judge.
Result<void> check_alone(const Root& root) {
  Result<Folder> runs = Folder::open(root, runs_path);
  if (!runs && runs.error().kind == ErrorKind::missing) return {};
  if (!runs) return tl::unexpected(runs.error());
  return Lock::check_free(runs->fd, runs_path);
}

/// Runs after this one that changed the same files: putting this one back first would leave neither
/// their state nor the original one.
std::vector<Error> later_runs(const Root& root, const RunRecord& record) {
  std::vector<Error> found;
  const std::vector<std::string> mine = placed_paths(record);
  const Result<std::vector<RunInfo>> runs = list_runs(root);
  if (!runs) return {runs.error()};
  const auto self = std::find_if(runs->begin(), runs->end(),
                                 [&](const RunInfo& info) { return info.run == record.run; });
  for (auto later = self; later != runs->end(); ++later) {
    if (later == self || later->state != RunInfo::State::applied) continue;
    const auto shared =
        std::find_first_of(later->changed.begin(), later->changed.end(), mine.begin(), mine.end());
    if (shared != later->changed.end())
      found.push_back({ErrorKind::malformed, *shared, 0,
                       fmt::format("was changed by the later run {0} as well: put that back first "
                                   "(nvme-preflight --undo {0})",
                                   later->run)});
  }
  return found;
}

FixOutcome refuse_undo(const std::string& run, const std::vector<Error>& errors) {
  return {
      run,
      State::refused,
      exit_refused,
      {},
      fmt::format("Run {0} is not put back, because of:{1}\nNothing was changed. To put it back "
                  "all the same (what is there now is kept in the run's folder): "
                  "nvme-preflight --undo {0} --force",
                  run, lines_of(errors))};
}

/// Puts back one run, which is not undone yet. The lock is held.
FixOutcome undo_locked(const Root& root, const std::string& run, const TransactionPorts& ports,
                       Force force) {
  Result<ParsedJournal> parsed = read_journal(root, run);
  if (!parsed) return refused(parsed.error());
  if (!parsed->begun) {
    if (auto done = discard_run(root, run); !done) return refused(done.error());
    return {run,
            State::undone,
            0,
            {},
            fmt::format("Run {} had not changed anything; its folder was removed.", run)};
  }
  Result<Folder> folder = open_run(root, run);
  if (!folder) return refused(folder.error());
  if (force == Force::no)
    if (const auto later = later_runs(root, parsed->record); !later.empty())
      return refuse_undo(run, later);
  if (const auto errors = check_restorable(root, *folder, parsed->record, force); !errors.empty())
    return refuse_undo(run, errors);
  Result<Journal> journal = Journal::open(*folder / journal_name, std::move(*parsed));
  if (!journal) return refused(journal.error());
  // A committed run that is half put back must be known for what it is.
  if (journal->record().finished())
    if (auto done = journal->append(state_event("undoing")); !done) return refused(done.error());
  const RunLog log(*folder, ports.now);
  log.say("nvme-preflight " PREFLIGHT_VERSION " --undo");
  FixOutcome outcome =
      put_back(root, *folder, *journal, fmt::format("Putting back run {}.", run), 0, force);
  log.say(fmt::format("{}: {}", to_string(outcome.state), outcome.message));
  return outcome;
}

/// The run to be put back when none is named.
Result<std::optional<std::string>> last_applied(const Root& root) {
  Result<std::vector<RunInfo>> runs = list_runs(root);
  if (!runs) return tl::unexpected(runs.error());
  for (auto run = runs->rbegin(); run != runs->rend(); ++run)
    if (run->state == RunInfo::State::applied) return std::optional<std::string>(run->run);
  return std::optional<std::string>();
}

Result<std::optional<std::string>> choose(const Root& root, const std::optional<std::string>& run) {
  if (run) {
    if (!is_run_name(*run) || !root.exists(fmt::format("{}/{}", runs_path, *run)))
      return fail(ErrorKind::missing, "",
                  fmt::format("there is no run \"{}\" (nvme-preflight --runs lists them)",
                              printable(*run)));
    return run;
  }
  Result<std::optional<std::string>> unfinished = find_unfinished_run(root);
  if (!unfinished || *unfinished) return unfinished;
  return last_applied(root);
}

FixOutcome nothing_to_do(const std::string& message) {
  return {"", State::nothing_to_do, 0, {}, message};
}

/// Removes the lock, or the empty folder, that a killed run has left: taking hold and letting go
/// does that.
void tidy(const Root& root, const TransactionPorts& ports) {
  Result<std::vector<std::string>> names = root.list(runs_path);
  if (!names) return;
  if (std::none_of(names->begin(), names->end(), is_run_name) ||
      std::find(names->begin(), names->end(), lock_name) != names->end())
    (void)take_hold(root, ports, ports.command);
}

}  // namespace

std::string_view to_string(FixOutcome::State state) {
  switch (state) {
    case State::applied:
      return "applied";
    case State::undone:
      return "undone";
    case State::refused:
      return "refused";
    case State::nothing_to_do:
      return "nothing-to-do";
  }
  return "refused";
}

std::string_view to_string(RunInfo::State state) {
  switch (state) {
    case RunInfo::State::applied:
      return "applied";
    case RunInfo::State::undone:
      return "undone";
    case RunInfo::State::interrupted:
      return "interrupted";
    case RunInfo::State::damaged:
      return "damaged";
  }
  return "damaged";
}

FixOutcome apply(const Guest& guest, const std::vector<Step>& steps,
                 const TransactionPorts& ports) {
  // Once without the lock, which is a file: a plan that is refused leaves no trace at all.
  if (auto done = check_alone(guest.root); !done) return refused(done.error());
  if (auto done = refuse_unfinished(guest.root); !done) return refused(done.error());
  Result<Plan> plan = prepare(guest, steps, ports);
  if (!plan) return refused(plan.error());
  if (plan->empty()) return nothing_to_do("There is nothing to do.");
  Result<Hold> hold = take_hold(guest.root, ports, ports.command);
  if (!hold) return refused(hold.error());
  if (auto done = refuse_unfinished(guest.root); !done) return refused(done.error());
  plan = prepare(guest, steps, ports);
  if (!plan) return refused(plan.error());
  return Run(guest, ports, std::move(*hold)).carry_out(*plan);
}

FixOutcome recover(const Guest& guest, const TransactionPorts& ports) {
  if (auto done = check_alone(guest.root); !done) return refused(done.error());
  Result<std::optional<std::string>> unfinished = find_unfinished_run(guest.root);
  if (!unfinished) return refused(unfinished.error());
  if (!*unfinished) {
    tidy(guest.root, ports);
    return nothing_to_do("No run was interrupted.");
  }
  return undo(guest, **unfinished, ports);
}

FixOutcome undo(const Guest& guest, const std::optional<std::string>& run,
                const TransactionPorts& ports, Force force) {
  if (auto done = check_alone(guest.root); !done) return refused(done.error());
  Result<std::optional<std::string>> chosen = choose(guest.root, run);
  if (!chosen) return refused(chosen.error());
  if (!*chosen) {
    tidy(guest.root, ports);
    return nothing_to_do("There is no run to put back.");
  }
  Result<Hold> hold = take_hold(guest.root, ports, "--undo");
  if (!hold) return refused(hold.error());
  Result<ParsedJournal> parsed = read_journal(guest.root, **chosen);
  if (parsed && parsed->record.undone)
    return nothing_to_do(fmt::format("Run {} is already put back.", **chosen));
  return undo_locked(guest.root, **chosen, ports, force);
}

Result<std::vector<RunInfo>> list_runs(const Root& root) {
  Result<std::vector<std::string>> names = run_names(root);
  if (!names) return tl::unexpected(names.error());
  std::vector<RunInfo> runs;
  for (const std::string& name : *names) {
    RunInfo info;
    info.run = name;
    Result<ParsedJournal> parsed = read_journal(root, name);
    if (!parsed) {
      info.error = parsed.error().message();
    } else {
      const RunRecord& record = parsed->record;
      info.state = record.undone       ? RunInfo::State::undone
                   : record.finished() ? RunInfo::State::applied
                                       : RunInfo::State::interrupted;
      info.time = printable(record.time);
      info.changed = placed_paths(record);
    }
    runs.push_back(std::move(info));
  }
  return runs;
}

std::map<std::string, std::string> texts_before_runs(const Root& root,
                                                     const std::vector<std::string>& paths) {
  std::map<std::string, std::string> texts;
  const Result<std::vector<std::string>> names = run_names(root);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const Result<ParsedJournal> parsed = read_journal(root, name);
    if (!parsed || parsed->record.undone || !parsed->record.finished()) continue;
    for (const FileRecord& file : parsed->record.files) {
      const bool wanted = std::find(paths.begin(), paths.end(), file.path) != paths.end();
      if (!wanted || !file.existed || !file.placed || texts.contains(file.path)) continue;
      if (Result<std::string> text =
              root.read(fmt::format("{}/{}/{}", runs_path, name, file.backup)))
        texts.emplace(file.path, std::move(*text));
    }
  }
  return texts;
}

Result<std::optional<std::string>> find_unfinished_run(const Root& root) {
  Result<std::vector<std::string>> names = run_names(root);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    Result<ParsedJournal> parsed = read_journal(root, name);
    if (!parsed) return tl::unexpected(parsed.error());
    if (!parsed->begun || !parsed->record.finished()) return std::optional<std::string>(name);
  }
  return std::optional<std::string>();
}

std::string unfinished_notice(const Guest& guest) {
  if (const auto alone = check_alone(guest.root); !alone)
    return alone.error().kind == ErrorKind::denied && !guest.privileged
               ? std::string()
               : fmt::format("{}; what is reported here may change under it",
                             alone.error().message());
  const auto unfinished = find_unfinished_run(guest.root);
  if (!unfinished)
    return unfinished.error().kind == ErrorKind::denied && !guest.privileged
               ? std::string()
               : fmt::format("{} Until then --fix and --undo refuse.",
                             unfinished.error().message() + '.');
  if (!*unfinished) return {};
  return fmt::format(
      "the run {} was interrupted: nvme-preflight --undo puts everything back, and so does the "
      "next --fix before it begins",
      **unfinished);
}

}  // namespace preflight
