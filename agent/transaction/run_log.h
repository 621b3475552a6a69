// SPDX-License-Identifier: MIT
// What a run says of itself, in its folder: for the person who looks later. A log that cannot be
// written stops nothing; what an undo needs is in the journal.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string_view>

#include "agent/progress.h"
#include "agent/transaction/run_folder.h"

namespace preflight {

inline constexpr const char* run_log_name = "log";

class RunLog {
 public:
  /// Continues the log of the run in that folder, or begins it.
  RunLog(const Folder& run, std::function<std::time_t()> now);

  /// Each line with the time (UTC) before it, on disk when this returns.
  void say(std::string_view text) const;

  /// A sink that writes to the log as well as to `other`. It may outlive this object.
  ProgressSink beside(ProgressSink other) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace preflight
