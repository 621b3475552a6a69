// SPDX-License-Identifier: MIT
// The one way into a guest's tree: a directory fd walked component by component, so that no
// symlink of the guest (absolute, "..", or swapped while we look) can lead outside of it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/fd.h"
#include "agent/result.h"

namespace preflight {

/// Configuration files are capped: LVM and GRUB configurations are far below it, and a guest's
/// gigabyte file must not become our memory.
inline constexpr std::uint64_t config_cap = 1u << 20;

class Root {
 public:
  /// Opens `dir` ("/" for the live system) as the root of a guest.
  static Result<Root> open(const std::string& dir);

  /// The whole content of a regular file. Errors: missing, denied, wrong_type, too_large (more than
  /// `cap` bytes), io. `path` is absolute within the guest.
  Result<std::string> read(std::string_view path, std::uint64_t cap = config_cap) const;

  /// A regular file opened for reading, for streaming. FIFOs and devices are refused unopened.
  Result<Fd> open_file(std::string_view path) const;

  /// A directory opened as an O_RDONLY fd (usable with fstatvfs, openat, fsync).
  Result<Fd> open_directory(std::string_view path) const;

  /// Names in a directory, sorted bytewise, without "." and "..". `cap` bounds their number.
  Result<std::vector<std::string>> list(std::string_view path, std::size_t cap = 100000) const;

  /// stat() with the last component followed inside the root / not followed.
  Result<struct stat> stat(std::string_view path) const;
  Result<struct stat> lstat(std::string_view path) const;

  /// The target of a symlink, as written.
  Result<std::string> read_link(std::string_view path) const;

  bool exists(std::string_view path) const { return stat(path).has_value(); }

  /// Where `path` leads to: the opened directory of its last component (symlinks followed) and the
  /// component's name in it, which may be missing. For those who create, rename or unlink.
  struct Place {
    Fd directory;
    std::string name;
    std::string path;  // absolute in the guest, no symlinks
  };
  Result<Place> place(std::string_view path) const;

  /// The guest path (absolute, no symlinks) that `path` leads to; the last component may be
  /// missing, its parent may not.
  Result<std::string> resolve(std::string_view path) const;

  int fd() const { return fd_.get(); }

 private:
  explicit Root(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace preflight
