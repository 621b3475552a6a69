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

/// Whether everything can be put back, judged before anything is: every file the run placed is
/// still as the run left it or as it was before, every backup is whole, there is room beside the
/// files. The error names the first that is not so.
Result<void> check_restorable(const Root& root, const Folder& run, const RunRecord& record);

struct Restored {
  std::vector<std::string> changed;  // paths that are now again what they were
  std::vector<std::string> notes;    // what was left as it is, and why
  std::vector<Error> failures;       // what could not be put back
};

/// Puts back all that check_restorable looked at, the last first, and goes on after a failure.
/// Files that are already what they were are not touched, so a second call finishes the first.
Restored restore(const Root& root, const Folder& run, const RunRecord& record);

}  // namespace preflight
