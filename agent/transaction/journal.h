// SPDX-License-Identifier: MIT
// What a run has done and is about to do, on disk before it does it: one JSON object a line, each
// line synced before the action it announces. It holds no bytes of the files; those are in the
// backups beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/json.h"
#include "agent/guest/fd.h"
#include "agent/guest/writer.h"
#include "agent/result.h"
#include "agent/transaction/content.h"

namespace preflight {

inline constexpr std::string_view journal_schema = "nvme-preflight/journal/1";
inline constexpr const char* journal_name = "journal";

/// One file that the run changes or creates.
struct FileRecord {
  std::string path;              // in the guest, absolute, no symlinks
  bool existed = false;          // false: created by the run, undo removes it
  std::string backup;            // name in the run folder; "" when it did not exist
  Attributes attributes;         // the original's, when it existed
  Digest original;               // the same
  std::optional<Digest> placed;  // what the run puts there; set once it is about to
  std::string copy;              // name in the run folder of a copy of it; "" when there is none
};

/// A file that the run leaves alone but LVM may rename because of it.
struct WatchedFile {
  std::string path;
  std::string backup;
};

/// What a journal says.
struct RunRecord {
  std::string run;
  std::string tool;     // "nvme-preflight 0.1.0"
  std::string time;     // ISO 8601, UTC
  std::string boot_id;  // of the system it ran in; "" when not known
  std::vector<FileRecord> files;
  std::vector<std::string> directories;  // about to be created, in that order
  std::optional<WatchedFile> devices_file;
  bool committed = false;
  bool undoing = false;  // since the last commit
  bool undone = false;

  bool finished() const { return undone || (committed && !undoing); }
};

/// One line to be. `begin` comes first and once.
Json begin_event(const RunRecord& record);
Json directory_event(const std::string& path);
Json file_event(const FileRecord& file);
Json devices_file_event(const WatchedFile& file);
/// `file` is an index into RunRecord::files.
Json place_event(std::size_t file, const Digest& digest, const std::string& copy = "");
Json state_event(std::string_view state);  // "committed", "undoing", "undone"

/// Reads a journal. A last line without its newline was being written when the power went: the
/// action it announces did not happen, so it is left out; `sound_length` is where it begins.
/// Errors: malformed (damaged, or not a journal of that run), naming file and line.
struct ParsedJournal {
  RunRecord record;
  bool begun = false;  // false: not even the first line is there
  std::size_t sound_length = 0;
};
Result<ParsedJournal> parse_journal(const std::string& path, std::string_view run,
                                    std::string_view text);

/// A journal that is being written.
class Journal {
 public:
  /// Continues (or begins) the journal in a run folder, whose fd must outlive it.
  static Result<Journal> open(const At& file, ParsedJournal parsed);

  /// On disk when this returns; the record is then up to date as well.
  Result<void> append(const Json& event);

  const RunRecord& record() const { return record_; }

 private:
  Journal(Fd fd, std::string path, ParsedJournal parsed)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        length_(parsed.sound_length),
        record_(std::move(parsed.record)) {}

  Fd fd_;
  std::string path_;
  std::size_t length_;  // whole lines on disk
  RunRecord record_;
};

}  // namespace preflight
