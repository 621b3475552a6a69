// SPDX-License-Identifier: MIT
#include "agent/guest/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <memory>
#include <optional>

namespace preflight {

namespace {

// path_resolution(7): the kernel follows at most 40 symbolic links in one walk.
constexpr int link_cap = 40;

std::deque<std::string> components(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
  return parts;
}

/// A walk from the root: one O_PATH directory fd per level, so that ".." is our own stack and
/// never the kernel's idea of a parent that somebody may have moved meanwhile.
class Walk {
 public:
  Walk(const Root& root, std::string_view path, bool follow_last)
      : root_(root.fd()), todo_(components(path)), follow_last_(follow_last), asked_(path) {}

  /// Walks to the end. A last component that is missing is no error here: see `missing`.
  Result<void> run() {
    while (!todo_.empty()) {
      std::string part = std::move(todo_.front());
      todo_.pop_front();
      Result<void> done = part == ".." ? up() : down(std::move(part));
      if (!done) return done;
    }
    return {};
  }

  std::string path() const {
    std::string out;
    for (const Level& level : levels_) out += '/' + level.name;
    if (missing_) out += '/' + *missing_;
    return out.empty() ? "/" : out;
  }

  bool missing() const { return missing_.has_value(); }
  bool at_root() const { return levels_.empty() && !missing_; }
  std::string last_name() const { return missing_ ? *missing_ : levels_.back().name; }
  int fd() const { return levels_.empty() ? root_ : levels_.back().fd.get(); }
  int directory() const {
    if (missing_) return fd();
    return levels_.size() < 2 ? root_ : levels_[levels_.size() - 2].fd.get();
  }

 private:
  struct Level {
    std::string name;
    Fd fd;
    bool is_directory;
  };

  Result<void> up() {
    if (!levels_.empty() && !levels_.back().is_directory)
      return fail_errno(ENOTDIR, asked_, "reach it");
    if (!levels_.empty()) levels_.pop_back();
    return {};
  }

  Result<void> down(std::string part) {
    if (!levels_.empty() && !levels_.back().is_directory)
      return fail_errno(ENOTDIR, asked_, "reach it");
    Fd next(::openat(fd(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      if (errno == ENOENT && todo_.empty()) {
        missing_ = std::move(part);
        return {};
      }
      return fail_errno(errno, asked_, "reach it");
    }
    struct stat status {};
    if (::fstat(next.get(), &status) != 0) return fail_errno(errno, asked_, "stat");
    if (S_ISLNK(status.st_mode) && (follow_last_ || !todo_.empty())) return follow(next.get());
    levels_.push_back({std::move(part), std::move(next), S_ISDIR(status.st_mode)});
    return {};
  }

  Result<void> follow(int link) {
    if (++links_ > link_cap) return fail_errno(ELOOP, asked_, "reach it");
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(link, "", target, sizeof target);
    if (length < 0) return fail_errno(errno, asked_, "read the link");
    const std::string_view text(target, static_cast<std::size_t>(length));
    if (text.substr(0, 1) == "/") levels_.clear();
    std::deque<std::string> parts = components(text);
    todo_.insert(todo_.begin(), std::make_move_iterator(parts.begin()),
                 std::make_move_iterator(parts.end()));
    return {};
  }

  int root_;
  std::deque<std::string> todo_;
  bool follow_last_;
  std::string asked_;
  std::vector<Level> levels_;
  std::optional<std::string> missing_;
  int links_ = 0;
};

Result<struct stat> stat_of(const Root& root, std::string_view path, bool follow) {
  Walk walk(root, path, follow);
  if (auto done = walk.run(); !done) return tl::unexpected(done.error());
  if (walk.missing()) return fail_errno(ENOENT, std::string(path), "stat");
  struct stat status {};
  if (::fstat(walk.fd(), &status) != 0) return fail_errno(errno, std::string(path), "stat");
  return status;
}

std::string_view type_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device";
  return "of an odd type";
}

Result<std::string> read_all(int fd, const std::string& path, std::uint64_t cap,
                             std::uint64_t expected) {
  std::string content;
  content.resize(std::min(expected, cap) + 1);
  std::size_t used = 0;
  for (;;) {
    if (used == content.size()) content.resize(content.size() * 2);
    const ssize_t got = ::read(fd, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path, "read");
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > cap)
      return fail(ErrorKind::too_large, path, fmt::format("larger than the cap of {} bytes", cap));
  }
  content.resize(used);
  return content;
}

}  // namespace

Result<Root> Root::open(const std::string& dir) {
  Fd fd(::open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, dir, "open the guest's root");
  return Root(std::move(fd));
}

Result<Fd> Root::open_file(std::string_view path) const {
  const std::string name(path);
  Walk walk(*this, path, true);
  if (auto done = walk.run(); !done) return tl::unexpected(done.error());
  if (walk.missing()) return fail_errno(ENOENT, name, "open");
  struct stat seen {};
  if (::fstat(walk.fd(), &seen) != 0) return fail_errno(errno, name, "stat");
  if (!S_ISREG(seen.st_mode))
    return fail(ErrorKind::wrong_type, name,
                fmt::format("is {}, not a regular file", type_name(seen.st_mode)));
  // Not through /proc/self/fd: in a kickstart's chroot /proc may not be mounted.
  Fd fd(::openat(walk.directory(), walk.last_name().c_str(),
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, name, "open");
  struct stat opened {};
  if (::fstat(fd.get(), &opened) != 0) return fail_errno(errno, name, "stat");
  if (opened.st_dev != seen.st_dev || opened.st_ino != seen.st_ino)
    return fail(ErrorKind::io, name, "was replaced while it was being opened");
  return fd;
}

Result<std::string> Root::read(std::string_view path, std::uint64_t cap) const {
  Result<Fd> fd = open_file(path);
  if (!fd) return tl::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return fail_errno(errno, std::string(path), "stat");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > cap)
    return fail(ErrorKind::too_large, std::string(path),
                fmt::format("{} bytes, larger than the cap of {} bytes", size, cap));
  return read_all(fd->get(), std::string(path), cap, size);
}

Result<Fd> Root::open_directory(std::string_view path) const {
  Walk walk(*this, path, true);
  if (auto done = walk.run(); !done) return tl::unexpected(done.error());
  if (walk.missing()) return fail_errno(ENOENT, std::string(path), "open");
  Fd fd(::openat(walk.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, std::string(path), "open the directory");
  return fd;
}

Result<std::vector<std::string>> Root::list(std::string_view path, std::size_t cap) const {
  Result<Fd> fd = open_directory(path);
  if (!fd) return tl::unexpected(fd.error());
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd->get()), &::closedir);
  if (!stream) return fail_errno(errno, std::string(path), "list");
  fd->release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == cap)
      return fail(ErrorKind::too_large, std::string(path), fmt::format("over {} files", cap));
    names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(errno, std::string(path), "list");
  std::sort(names.begin(), names.end());
  return names;
}

Result<struct stat> Root::stat(std::string_view path) const {
  return stat_of(*this, path, true);
}

Result<struct stat> Root::lstat(std::string_view path) const {
  return stat_of(*this, path, false);
}

Result<std::string> Root::read_link(std::string_view path) const {
  Walk walk(*this, path, false);
  if (auto done = walk.run(); !done) return tl::unexpected(done.error());
  if (walk.missing()) return fail_errno(ENOENT, std::string(path), "read the link");
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(walk.fd(), "", target, sizeof target);
  if (length < 0) return fail_errno(errno, std::string(path), "read the link");
  return std::string(target, static_cast<std::size_t>(length));
}

Result<Root::Place> Root::place(std::string_view path) const {
  Walk walk(*this, path, true);
  if (auto done = walk.run(); !done) return tl::unexpected(done.error());
  if (walk.at_root()) return fail_errno(EISDIR, std::string(path), "use it as a file");
  Fd directory(::openat(walk.directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno(errno, std::string(path), "open its directory");
  return Place{std::move(directory), walk.last_name(), walk.path()};
}

Result<std::string> Root::resolve(std::string_view path) const {
  Walk walk(*this, path, true);
  if (auto done = walk.run(); !done) return tl::unexpected(done.error());
  return walk.path();
}

}  // namespace preflight
