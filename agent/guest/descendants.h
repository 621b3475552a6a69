// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <vector>

namespace preflight {

/// While it lives, whatever a program of the guest leaves behind becomes a child of this process,
/// even what has left the program's process group (setsid(1), a daemon): PR_SET_CHILD_SUBREAPER of
/// prctl(2). When it ends all of them are killed, and they are gone when the destructor returns.
/// Children from before are left alone. One at a time: its end is the end of every program that was
/// begun since. Needs /proc; without it nothing is found.
class Descendants {
 public:
  Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;
  ~Descendants();

 private:
  std::vector<pid_t> before_;
  int was_reaper_ = 0;
};

}  // namespace preflight
