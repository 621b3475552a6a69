// SPDX-License-Identifier: MIT
#include "agent/guest/open_guest.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace preflight {

Result<Guest> open_guest(const std::string& dir, std::optional<std::string> lsblk_file) {
  if (lsblk_file && ::access(lsblk_file->c_str(), R_OK) != 0)
    return fail_errno(errno, "--lsblk: " + *lsblk_file, "open");
  Result<Root> root = Root::open(dir);
  if (!root) return tl::unexpected(root.error());
  const Result<struct stat> here = root->stat("/");
  if (!here) return tl::unexpected(here.error());
  struct stat own {};
  const bool live =
      ::stat("/", &own) == 0 && own.st_dev == here->st_dev && own.st_ino == here->st_ino;
  Guest guest{std::move(*root), live ? "/" : dir, live, ::geteuid() == 0, std::move(lsblk_file)};
  return guest;
}

}  // namespace preflight
