// SPDX-License-Identifier: MIT
// Preconditions of a plan, all of them before anything is changed. Reads only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/guest/root.h"
#include "agent/guest/writer.h"
#include "agent/result.h"
#include "agent/step.h"
#include "agent/transaction/transaction.h"

namespace preflight {

/// One file that is to be replaced or created.
struct Target {
  std::string asked;                         // as the step names it
  std::string path;                          // in the guest, no symlinks
  std::vector<std::string> new_directories;  // to be created first, outermost first
  std::optional<Root::Place> place;          // empty while its directory is missing
  bool existed = false;
  struct stat status {};            // when it existed
  std::optional<EditFile> edit;     // either this
  std::optional<BuildImage> build;  // or that
};

struct Plan {
  std::vector<Target> edits;
  std::vector<Target> images;
  std::string dracut;  // guest path of the program; "" when no image is built

  bool empty() const { return edits.empty() && images.empty(); }
};

/// Looks at every step's file and says whether it can be done; the error is the first reason why
/// not. Steps that change nothing and repetitions are left out.
Result<Plan> prepare(const Guest& guest, const std::vector<Step>& steps,
                     const TransactionPorts& ports);

/// Whether the file systems have room for it. `new_sizes` (bytes) are those of the built images in
/// the plan's order; without them each is taken to be as large as the old one.
Result<void> check_space(const Root& root, const Plan& plan, const TransactionPorts& ports,
                         const std::optional<std::vector<std::uint64_t>>& new_sizes);

/// Whether the file is still the very one that prepare() saw, with the bytes the plan was made
/// from.
Result<void> check_unchanged(const Root& root, const Target& target);

}  // namespace preflight
