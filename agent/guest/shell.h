// SPDX-License-Identifier: MIT
// Evaluation of shell configuration by the live guest's own bash, fenced in.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/result.h"

namespace preflight {

struct ShellFile {
  std::string path;  // for messages; the text is what is evaluated
  std::string text;
};

/// Values of the variables that were asked for; nullopt: unset.
using ShellValues = std::map<std::string, std::optional<std::string>, std::less<>>;

/// Sources the texts one after the other in one bash (as `. FILE` does: a syntax error drops the
/// rest of its file only) and gives the values of `names` after each. `preset` are variables that
/// are there from the start. Files are sourced for their variables alone: bash runs as nobody, in
/// mount, network, process and IPC namespaces of its own, all file systems read-only, without a
/// network, for `time_limit` at most. There is no weaker fence to fall back to: where the system
/// does not allow this one, nothing is run. Errors: unsupported (the fence cannot be made, the text
/// looks at what the fence changes, it was hindered by the fence, or it did not come to its end in
/// time), missing (no bash), io.
Result<std::vector<ShellValues>> source_in_bash(
    const std::vector<ShellFile>& files, const std::vector<std::string>& names,
    const std::map<std::string, std::string>& preset,
    std::chrono::seconds time_limit = std::chrono::seconds(10));

}  // namespace preflight
