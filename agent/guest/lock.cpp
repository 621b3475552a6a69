// SPDX-License-Identifier: MIT
#include "agent/guest/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "agent/formats/text.h"

namespace preflight {

namespace {

std::string read_holder(int fd) {
  std::array<char, 200> buffer{};
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
  if (got <= 0) return "a process that did not say who it is";
  return printable(trim(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
}

tl::unexpected<Error> held(int fd, const std::string& path) {
  return fail(ErrorKind::denied, path,
              fmt::format("another run holds the lock: {}", read_holder(fd)));
}

/// The holder removes the file before it lets go, so a lock may be won on a file without a name.
bool still_named(int directory, int fd) {
  struct stat named {};
  struct stat held {};
  return ::fstatat(directory, lock_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &held) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

}  // namespace

Result<Lock> Lock::acquire(Fd directory, const std::string& directory_path,
                           const std::string& holder) {
  const std::string path = directory_path + '/' + lock_name;
  constexpr int tries = 10;
  for (int left = tries; left > 0; --left) {
    Fd file(::openat(directory.get(), lock_name,
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file) return fail_errno(errno, path, "open the lock");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return fail_errno(errno, path, "lock");
      return held(file.get(), path);
    }
    if (!still_named(directory.get(), file.get())) continue;
    // Only a courtesy to the next one: the lock itself is the flock.
    if (::ftruncate(file.get(), 0) == 0) {
      [[maybe_unused]] const ssize_t told = ::pwrite(file.get(), holder.data(), holder.size(), 0);
    }
    return Lock(std::move(directory), std::move(file));
  }
  return fail(ErrorKind::denied, path, "another run holds the lock and is just finishing");
}

Result<void> Lock::check_free(const Fd& directory, const std::string& directory_path) {
  const std::string path = directory_path + '/' + lock_name;
  const Fd file(
      ::openat(directory.get(), lock_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  if (!file) return fail_errno(errno, path, "open the lock");
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return {};
  return held(file.get(), path);
}

Lock::~Lock() {
  if (file_) ::unlinkat(directory_.get(), lock_name, 0);
}

}  // namespace preflight
