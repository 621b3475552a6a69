// SPDX-License-Identifier: MIT
// Building every image before anything is changed: dracut writes into the run's staging folder and
// sees the planned edits there; what it wrote is read back and verified.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"
#include "agent/transaction/content.h"
#include "agent/transaction/prepare.h"
#include "agent/transaction/run_folder.h"
#include "agent/transaction/transaction.h"

namespace preflight {

struct StagedImage {
  std::string path;  // in the guest, below the run's staging folder
  std::string name;  // in the staging folder
  Digest digest;
};

/// The log of dracut's work on the image with that number, in the run folder.
std::string dracut_log_name(std::size_t index);
bool is_dracut_log(std::string_view name);

/// Builds and verifies the plan's images, several at a time; the first that cannot be stops the
/// others and is the error, which quotes the end of dracut's output, the whole of it being in the
/// run folder then. Nothing outside the run folder is changed, and staging is gone after an error.
Result<std::vector<StagedImage>> build_images(const Guest& guest, const Plan& plan,
                                              const Folder& run, const TransactionPorts& ports);

/// dracut's arguments for one image. `confdir` is empty when the guest's own is as planned.
std::vector<std::string> dracut_command(const std::string& dracut, const BuildImage& build,
                                        const std::string& confdir, const std::string& tmpdir,
                                        const std::string& image);

}  // namespace preflight
