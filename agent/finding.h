// SPDX-License-Identifier: MIT
// What a check says about one subject (an entry, an image, a file, a line).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace preflight {

enum class Status { pass, warn, fail, unknown, skip };

std::string_view to_string(Status status);

/// A place in the guest that shows why: what was seen there and what is wanted.
/// `line` is 1-based; 0 when the whole file is meant.
struct Evidence {
  std::string path;
  int line = 0;
  std::string saw;
  std::string want;
};

/// How to mend it. `fix` is the id of one of our fixes, empty where the tool cannot mend it.
struct Remedy {
  std::string fix;
  std::string text;
  std::vector<std::string> command;
};

struct Finding {
  std::string check;    // the check's id; filled in by the engine
  std::string subject;  // guest path or entry id the finding is about
  Status status = Status::unknown;
  std::string summary;  // one or two sentences: what, and why it stops the boot
  std::vector<Evidence> evidence;
  std::optional<Remedy> remedy;
};

/// A finding without evidence and remedy, for the check that makes it.
inline Finding make_finding(std::string subject, Status status, std::string summary) {
  return {"", std::move(subject), status, std::move(summary), {}, {}};
}

}  // namespace preflight
