// SPDX-License-Identifier: MIT
#include "agent/guest/sync_writes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace preflight {

namespace {

Result<Fd> open_unnamed(const Root& root, const std::string& directory, SyncKind kind) {
  const Result<Fd> place = root.open_directory(directory);
  if (!place) return tl::unexpected(place.error());
  const std::string name = fmt::format(".nvme-preflight-measure-{}", ::getpid());
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC |
                    (kind == SyncKind::dsync ? O_DSYNC : 0);
  Fd file(::openat(place->get(), name.c_str(), flags, 0600));
  if (!file) return fail_errno(errno, directory, "create a file in it");
  if (::unlinkat(place->get(), name.c_str(), 0) != 0)
    return fail_errno(errno, directory, "remove the file made in it");
  return file;
}

/// One block at the end of the file, on the disk.
bool write_block(int fd, std::size_t index, SyncKind kind) {
  char block[sync_block];
  for (std::size_t i = 0; i < sync_block; ++i) block[i] = static_cast<char>(i * 31 + index * 17);
  const auto offset = static_cast<off_t>(index * sync_block);
  if (::pwrite(fd, block, sync_block, offset) != static_cast<ssize_t>(sync_block)) return false;
  return kind == SyncKind::dsync || ::fdatasync(fd) == 0;
}

}  // namespace

Result<std::vector<std::uint64_t>> time_sync_writes(const Root& root, const std::string& directory,
                                                    SyncKind kind, const SyncLimits& limits,
                                                    const std::atomic<bool>* stop) {
  using Clock = std::chrono::steady_clock;
  const Result<Fd> file = open_unnamed(root, directory, kind);
  if (!file) return tl::unexpected(file.error());
  std::vector<std::uint64_t> taken;
  const Clock::time_point end = Clock::now() + limits.time;
  Clock::time_point before = Clock::now();
  while (taken.size() < limits.writes && before < end) {
    if (stop && *stop) return fail(ErrorKind::io, directory, "stopped");
    errno = 0;
    if (!write_block(file->get(), taken.size(), kind))
      return fail_errno(errno != 0 ? errno : ENOSPC, directory, "write to a file in it");
    const Clock::time_point after = Clock::now();
    taken.push_back(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count()));
    before = after;
  }
  return taken;
}

}  // namespace preflight
