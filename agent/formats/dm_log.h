// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace preflight {

/// Takes what libdevmapper logs on this thread for as long as it lives. Without a callback the
/// library writes to stderr, which belongs to the person (libdevmapper.h, dm_log_with_errno_init).
class DmLog {
 public:
  DmLog();
  ~DmLog();
  DmLog(const DmLog&) = delete;
  DmLog& operator=(const DmLog&) = delete;

  /// Errors and warnings, the first 32 of each at most: a hostile file can cause one per key.
  const std::vector<std::string>& errors() const { return errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// For the callback alone.
  void add(bool error, std::string message);

 private:
  DmLog* outer_;
  std::vector<std::string> errors_, warnings_;
};

}  // namespace preflight
