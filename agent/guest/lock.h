// SPDX-License-Identifier: MIT
// One run at a time: a lock that dies with its holder, however that ends.
#pragma once

#include <string>

#include "agent/guest/fd.h"
#include "agent/guest/writer.h"
#include "agent/result.h"

namespace preflight {

/// The lock file's name in its directory.
inline constexpr const char* lock_name = "lock";

class Lock {
 public:
  /// Takes the lock file (created when missing) or fails at once with kind `denied`, naming the
  /// holder as it described itself. `holder` is what the next one is told about us.
  /// `directory` is the directory's own fd, kept by the lock.
  static Result<Lock> acquire(Fd directory, const std::string& directory_path,
                              const std::string& holder);

  /// The same refusal while another holds it, without creating or taking anything.
  static Result<void> check_free(const Fd& directory, const std::string& directory_path);

  Lock(Lock&&) = default;
  Lock& operator=(Lock&&) = delete;
  /// Removes the lock file while it is still held.
  ~Lock();

 private:
  Lock(Fd directory, Fd file) : directory_(std::move(directory)), file_(std::move(file)) {}

  Fd directory_;
  Fd file_;
};

}  // namespace preflight
