// SPDX-License-Identifier: MIT
// Where runs keep their journal and backups: /var/lib/nvme-preflight/<run>/, mode 0700, for a
// backup is as secret as its original.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/fd.h"
#include "agent/guest/root.h"
#include "agent/guest/writer.h"
#include "agent/result.h"
#include "agent/transaction/journal.h"

namespace preflight {

inline constexpr const char* runs_path = "/var/lib/nvme-preflight";
inline constexpr const char* staging_name = "staging";

/// An opened directory and its guest path.
struct Folder {
  Fd fd;
  std::string path;

  At operator/(const std::string& name) const { return inside(fd, path, name); }
  static Result<Folder> open(const Root& root, const std::string& path);
};

/// The folder of all runs, created when missing. What was created is removed again when nothing
/// is left in it, so that a refused run leaves no trace.
class RunsFolder {
 public:
  static Result<RunsFolder> ensure(const Root& root);
  RunsFolder(RunsFolder&&) = default;
  RunsFolder& operator=(RunsFolder&&) = delete;
  ~RunsFolder();

  const Folder& folder() const { return folder_; }

 private:
  RunsFolder() = default;

  Folder folder_;
  std::vector<Root::Place> removable_;  // innermost last
};

/// "20261130T210000Z-1": UTC, and a counter for runs within one second.
bool is_run_name(std::string_view name);

/// ISO 8601, UTC: "2026-11-30T21:00:00Z".
std::string utc_time(std::time_t time);

/// Creates the next run's folder and returns its name.
Result<std::string> create_run(const Folder& runs, std::time_t now);

/// Names of all runs, oldest first; empty when there is no folder.
Result<std::vector<std::string>> run_names(const Root& root);

/// The journal of a run; `begun` is false when it has none. Errors: as parse_journal, and
/// malformed when the journal is missing although there are backups.
Result<ParsedJournal> read_journal(const Root& root, const std::string& run);

/// Removes a run's folder, the journal last, so that what remains of it is understood at any
/// instant.
Result<void> discard_run(const Root& root, const std::string& run);

}  // namespace preflight
