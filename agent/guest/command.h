// SPDX-License-Identifier: MIT
// Runs a program of the guest, bounded in time and output.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "agent/result.h"

namespace preflight {

/// Which part of an output over the cap is kept.
enum class Keep { beginning, end };

struct Command {
  std::vector<std::string> argv;         // argv[0] is an absolute path
  std::vector<std::string> environment;  // "NAME=value"; nothing is inherited
  std::string input;                     // given on stdin
  std::chrono::seconds timeout{30};
  std::size_t output_cap = 1u << 20;  // per stream; more is cut, and `cut` says so
  Keep keep = Keep::beginning;
  /// Called in the child between fork and exec: only async-signal-safe calls. Returns 0 or an
  /// errno.
  std::function<int()> in_child;
};

struct CommandOutput {
  int exit_status = 0;  // 128 + signal when killed
  bool timed_out = false;
  bool cut = false;
  std::string out;
  std::string err;
};

/// Errors: missing (no such program), io. A program that exits non-zero is a value, not an error.
/// When it ends or its time is up (`timed_out`), what is left of its process group is killed, and
/// nobody waits for others that hold its output open.
Result<CommandOutput> run(const Command& command);

}  // namespace preflight
