// SPDX-License-Identifier: MIT
#include "agent/guest/settle.h"

#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace preflight {

namespace {

constexpr long xfs_magic = 0x58465342;  // not in linux/magic.h of EL 8

/// Whether only a freeze empties the journal: syncfs(2) of XFS forces the log and leaves the rest
/// to a timer (ostreedev/ostree issue 876); that of ext4 writes its metadata in place as well. The
/// file system that this process lives on is never frozen: should the thaw not come, all stands
/// still.
bool needs_a_freeze(int directory) {
  struct statfs system {};
  struct stat here {};
  struct stat root {};
  return ::fstatfs(directory, &system) == 0 && system.f_type == xfs_magic &&
         ::fstat(directory, &here) == 0 && ::stat("/", &root) == 0 && here.st_dev != root.st_dev;
}

/// Runs in a child of its own: system calls alone. A process that is stopped or killed between the
/// two would leave the file system frozen, so no signal that can be kept off reaches it, and it is
/// no member of the group that a terminal or a service manager signals.
[[noreturn]] void freeze_and_thaw(int directory) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  constexpr int tries = 100;
  constexpr timespec pause{0, 50'000'000};
  if (::ioctl(directory, FIFREEZE, 0) == 0)
    for (int left = tries; left > 0 && ::ioctl(directory, FITHAW, 0) != 0 && errno != EINVAL;
         --left)
      ::nanosleep(&pause, nullptr);  // EINVAL: somebody else has thawed it
  ::_exit(0);
}

}  // namespace

Result<void> settle(int directory, const std::string& path) {
  if (::syncfs(directory) != 0) return fail_errno(errno, path, "sync its file system");
  if (!needs_a_freeze(directory)) return {};
  // Not permitted, already frozen: then it is as it would be without, and no reason to fail.
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, path, "fork");
  if (child == 0) freeze_and_thaw(directory);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace preflight
