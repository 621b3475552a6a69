// SPDX-License-Identifier: MIT
// Putting a run's files back: from its record and its backups, as often as it takes.
#pragma once

#include <string>
#include <vector>

#include "agent/guest/root.h"
#include "agent/result.h"
#include "agent/transaction/journal.h"
#include "agent/transaction/run_folder.h"

namespace preflight {

/// Whether files that somebody changed or removed since are put back as well. Then what is there is
/// first copied to the run folder ("before-undo-0"), and a file whose backup is spoilt keeps nobody
/// from putting the others back.
enum class Force { no, yes };

/// What speaks against putting the run back, judged before anything is: a file that is neither as
/// the run left it nor as it was before, a backup that is not whole, no room beside a file. Each
/// error names its file; none when everything can be put back. These are no obstacles:
///  - GRUB's environment block, where other variables than the fix's have changed;
///  - an image or boot entry that is gone together with its kernel.
std::vector<Error> check_restorable(const Root& root, const Folder& run, const RunRecord& record,
                                    Force force);

struct Restored {
  std::vector<std::string> changed;  // paths that are now again what they were
  std::vector<std::string> notes;    // what was left as it is, and why
  std::vector<Error> failures;       // what could not be put back; another attempt may
  std::vector<Error> lost;           // with force: what never can be
};

/// Puts back all that check_restorable looked at, the last first, and goes on after a failure.
/// Files that are already what they were are not touched, so a second call finishes the first.
Restored restore(const Root& root, const Folder& run, const RunRecord& record, Force force);

}  // namespace preflight
