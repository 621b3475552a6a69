// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/engine.h"

namespace preflight {

enum class Mode { check, fix, undo, runs, explain, measure, verify, finish };

struct Options {
  Mode mode = Mode::check;
  std::string root = "/";
  std::optional<std::string> lsblk_file;
  std::optional<std::string> run;      // of --undo; the newest when not given
  std::optional<std::string> explain;  // the check of --explain; all when not given
  std::optional<std::string> kernel;   // whose entries are judged as if they were the default
  std::string directory = "/var/lib";  // of --measure
  Selection selection;
  bool dry_run = false;
  bool diff = false;
  bool force = false;  // of --undo
  bool keep_hostonly = false;
  std::size_t keep = 5;                      // runs whose backups stay
  std::chrono::seconds time_limit{15 * 60};  // for each image that dracut builds
  std::size_t jobs = 0;  // images that --fix builds at a time; 0: by the machine
  bool json = false;
  bool strict = false;
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";
};

/// The command line was answered already: help, version, or a usage error.
struct Answered {
  int exit_code = 0;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

/// Exit code 2 for usage errors.
std::variant<Options, Answered> parse_options(int argc, const char* const* argv);

}  // namespace preflight
