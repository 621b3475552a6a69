// SPDX-License-Identifier: MIT
// What each mode of the command line does. Nothing here prints or exits: that is main's.
#pragma once

#include <atomic>
#include <string>

#include "agent/cli/options.h"
#include "agent/progress.h"
#include "agent/report/report.h"

namespace preflight {

struct Surface {
  TextStyle style;
  ProgressSink progress;                    // for stderr
  const std::atomic<bool>* stop = nullptr;  // set by SIGINT and SIGTERM
};

struct Reply {
  int exit_code = 0;
  std::string out;    // for stdout: the report alone
  std::string err;    // for stderr
  std::string log{};  // one line for the system's log; "" when nothing was to be changed
};

Reply execute(const Options& options, const Surface& surface);

}  // namespace preflight
