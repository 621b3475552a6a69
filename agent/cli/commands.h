// SPDX-License-Identifier: MIT
// What each mode of the command line does. Nothing here prints or exits: that is main's.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "agent/cli/options.h"
#include "agent/report/report.h"

namespace preflight {

struct Surface {
  TextStyle style;
  std::function<void(std::string_view)> progress;  // one line for stderr
  const std::atomic<bool>* stop = nullptr;         // set by SIGINT and SIGTERM
};

struct Reply {
  int exit_code = 0;
  std::string out;  // for stdout: the report alone
  std::string err;  // for stderr
};

Reply execute(const Options& options, const Surface& surface);

}  // namespace preflight
