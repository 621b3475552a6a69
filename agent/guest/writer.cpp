// SPDX-License-Identifier: MIT
#include "agent/guest/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "agent/guest/settle.h"

namespace preflight {

namespace {

constexpr std::string_view label_name = "security.selinux";

// xattr(7): a value has at most 64 KiB, so has the list of names.
constexpr std::size_t xattr_cap = 65536;

template <class Call>
auto retry(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

bool vouches_for_bytes(std::string_view name) {
  return name == "security.ima" || name == "security.evm";
}

Result<std::string> read_xattr(int fd, const std::string& path, const std::string& name) {
  std::string value(xattr_cap, '\0');
  const ssize_t length = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
  if (length < 0) return fail_errno(errno, path, fmt::format("read its attribute {}", name));
  value.resize(static_cast<std::size_t>(length));
  return value;
}

Result<std::map<std::string, std::string>> read_xattrs(int fd, const std::string& path) {
  std::map<std::string, std::string> xattrs;
  std::string names(xattr_cap, '\0');
  const ssize_t length = ::flistxattr(fd, names.data(), names.size());
  if (length < 0 && errno == ENOTSUP) return xattrs;
  if (length < 0) return fail_errno(errno, path, "list its extended attributes");
  names.resize(static_cast<std::size_t>(length));
  for (std::size_t start = 0; start < names.size();) {
    const std::string name = names.c_str() + start;
    start += name.size() + 1;
    Result<std::string> value = read_xattr(fd, path, name);
    if (!value) return tl::unexpected(value.error());
    xattrs.emplace(name, std::move(*value));
  }
  return xattrs;
}

/// Sets what is missing or different. What the kernel itself keeps (evm), or may refuse (ima), is
/// tried but no reason to fail: it is about the bytes, and those are proven by reading them back.
Result<void> write_xattrs(int fd, const std::string& path,
                          const std::map<std::string, std::string>& wanted, Bytes kind) {
  Result<std::map<std::string, std::string>> present = read_xattrs(fd, path);
  if (!present) return tl::unexpected(present.error());
  for (const auto& [name, value] : wanted) {
    const auto there = present->find(name);
    if (there != present->end() && there->second == value) continue;
    const bool about_bytes = vouches_for_bytes(name);
    if (about_bytes && kind == Bytes::changed) continue;
    if (::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) != 0 && !about_bytes)
      return fail_errno(errno, path, fmt::format("set its attribute {}", name));
  }
  for (const auto& [name, value] : *present) {
    if (wanted.contains(name) || vouches_for_bytes(name) || name == label_name) continue;
    if (::fremovexattr(fd, name.c_str()) != 0)
      return fail_errno(errno, path, fmt::format("remove its attribute {}", name));
  }
  return {};
}

/// chown(2) clears set-id bits and capabilities, so the owner comes first; times come last.
Result<void> write_attributes(int fd, const std::string& path, const Attributes& attributes,
                              Bytes kind) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return fail_errno(errno, path, "stat");
  if ((now.st_uid != attributes.uid || now.st_gid != attributes.gid) &&
      ::fchown(fd, attributes.uid, attributes.gid) != 0)
    return fail_errno(errno, path, "set its owner");
  if (::fchmod(fd, attributes.mode & 07777u) != 0) return fail_errno(errno, path, "set its mode");
  return write_xattrs(fd, path, attributes.xattrs, kind);
}

Result<void> write_times(int fd, const std::string& path, const Attributes& attributes) {
  const std::array<timespec, 2> times{attributes.accessed, attributes.modified};
  if (::futimens(fd, times.data()) != 0) return fail_errno(errno, path, "set its times");
  return {};
}

Result<void> write_all(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return fail_errno(errno, path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_content(int fd, const std::string& path, const ByteSource& content) {
  std::vector<std::byte> buffer(1u << 17);
  for (;;) {
    Result<std::size_t> got = content(buffer);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return {};
    const std::string_view bytes(reinterpret_cast<const char*>(buffer.data()), *got);
    if (auto done = write_all(fd, path, bytes); !done) return done;
  }
}

Result<void> sync_file(int fd, const std::string& path) {
  if (retry([&] { return ::fsync(fd); }) != 0) return fail_errno(errno, path, "sync");
  return {};
}

Result<Fd> create_exclusively(const At& file) {
  Fd fd(::openat(file.directory, file.name.c_str(),
                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, file.path, "create");
  return fd;
}

Result<void> fill(const At& file, const ByteSource& content, const Attributes& attributes,
                  Bytes kind) {
  Result<Fd> fd = create_exclusively(file);
  if (!fd) return tl::unexpected(fd.error());
  if (auto done = write_content(fd->get(), file.path, content); !done) return done;
  if (auto done = write_attributes(fd->get(), file.path, attributes, kind); !done) return done;
  if (kind == Bytes::original)
    if (auto done = write_times(fd->get(), file.path, attributes); !done) return done;
  return sync_file(fd->get(), file.path);
}

Result<std::vector<std::string>> names_in(int directory, const std::string& path) {
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return fail_errno(errno, path, "open the directory");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), &::closedir);
  if (!stream) return fail_errno(errno, path, "list");
  copy.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(errno, path, "list");
  return names;
}

/// A directory being emptied, without recursion: the depth of a tree must not become our stack.
struct Level {
  Fd fd;
  std::string name;  // in the level above
  std::string path;
  std::vector<std::string> left;
};

Result<Level> enter(int parent, const std::string& name, const std::string& path, dev_t device) {
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path, "open the directory");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path, "stat");
  if (status.st_dev != device)
    return fail(ErrorKind::wrong_type, path, "another file system is mounted there");
  Result<std::vector<std::string>> names = names_in(fd.get(), path);
  if (!names) return tl::unexpected(names.error());
  return Level{std::move(fd), name, path, std::move(*names)};
}

Result<void> empty_and_remove(const At& tree, dev_t device) {
  std::vector<Level> levels;
  Result<Level> top = enter(tree.directory, tree.name, tree.path, device);
  if (!top) return tl::unexpected(top.error());
  levels.push_back(std::move(*top));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.left.empty()) {
      const Level done = std::move(level);
      levels.pop_back();
      const int parent = levels.empty() ? tree.directory : levels.back().fd.get();
      if (::unlinkat(parent, done.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
        return fail_errno(errno, done.path, "remove the directory");
      continue;
    }
    const std::string name = std::move(level.left.back());
    level.left.pop_back();
    if (::unlinkat(level.fd.get(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
    // unlink(2) of a directory: EISDIR on Linux, EPERM by POSIX.
    if (errno != EISDIR && errno != EPERM)
      return fail_errno(errno, level.path + '/' + name, "remove");
    Result<Level> below = enter(level.fd.get(), name, level.path + '/' + name, device);
    if (!below) return tl::unexpected(below.error());
    levels.push_back(std::move(*below));
  }
  return {};
}

}  // namespace

At at(const Root::Place& place) {
  return {place.directory.get(), place.name, place.path};
}

At inside(const Fd& directory, const std::string& path, const std::string& name) {
  return {directory.get(), name, path + '/' + name};
}

bool Attributes::same_as(const Attributes& other) const {
  return mode == other.mode && uid == other.uid && gid == other.gid &&
         modified.tv_sec == other.modified.tv_sec && modified.tv_nsec == other.modified.tv_nsec &&
         xattrs == other.xattrs;
}

Result<OpenFile> open_regular(const At& file) {
  struct stat seen {};
  if (::fstatat(file.directory, file.name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, file.path, "stat");
  if (!S_ISREG(seen.st_mode))
    return fail(ErrorKind::wrong_type, file.path, "is not a regular file");
  // Reading must not change the access time; only the owner and root may ask for that.
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  OpenFile open;
  open.fd = Fd(::openat(file.directory, file.name.c_str(), flags | O_NOATIME));
  if (!open.fd && errno == EPERM) open.fd = Fd(::openat(file.directory, file.name.c_str(), flags));
  if (!open.fd) return fail_errno(errno, file.path, "open");
  if (::fstat(open.fd.get(), &open.status) != 0) return fail_errno(errno, file.path, "stat");
  if (open.status.st_dev != seen.st_dev || open.status.st_ino != seen.st_ino)
    return fail(ErrorKind::io, file.path, "was replaced while it was being opened");
  return open;
}

Result<bool> is_there(const At& file) {
  struct stat seen {};
  if (::fstatat(file.directory, file.name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return fail_errno(errno, file.path, "stat");
}

Result<Attributes> read_attributes(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, path, "stat");
  Result<std::map<std::string, std::string>> xattrs = read_xattrs(fd, path);
  if (!xattrs) return tl::unexpected(xattrs.error());
  Attributes attributes;
  attributes.mode = status.st_mode & 07777u;
  attributes.uid = status.st_uid;
  attributes.gid = status.st_gid;
  attributes.accessed = status.st_atim;
  attributes.modified = status.st_mtim;
  attributes.xattrs = std::move(*xattrs);
  return attributes;
}

Result<Attributes> fresh_attributes(int directory, const std::string& path, mode_t mode) {
  Attributes attributes;
  attributes.mode = mode & 07777u;
  attributes.uid = ::geteuid();
  attributes.gid = ::getegid();
  Result<std::map<std::string, std::string>> parent = read_xattrs(directory, path);
  if (!parent) return tl::unexpected(parent.error());
  if (const auto label = parent->find(std::string(label_name)); label != parent->end())
    attributes.xattrs.insert(*label);
  return attributes;
}

ByteSource bytes_of(std::string_view text) {
  return [text](std::span<std::byte> into) mutable -> Result<std::size_t> {
    const std::size_t length = std::min(into.size(), text.size());
    std::memcpy(into.data(), text.data(), length);
    text.remove_prefix(length);
    return length;
  };
}

ByteSource bytes_of(int fd, std::string path) {
  return [fd, path = std::move(path),
          offset = off_t{0}](std::span<std::byte> into) mutable -> Result<std::size_t> {
    const ssize_t got = retry([&] { return ::pread(fd, into.data(), into.size(), offset); });
    if (got < 0) return fail_errno(errno, path, "read");
    offset += got;
    return static_cast<std::size_t>(got);
  };
}

std::string temporary_name(std::string_view name) {
  return fmt::format(".{}.nvme-preflight-new", name);
}

Result<void> settle_for_boot_loader(const At& file) {
  if (!file.path.starts_with("/boot/") && !file.path.starts_with("/efi/")) return {};
  return settle(file.directory, file.path);
}

Result<void> replace_file(const At& file, const ByteSource& content, const Attributes& attributes,
                          Bytes kind, const std::function<Result<void>()>& last_look) {
  const At beside{file.directory, temporary_name(file.name), file.path + " (new)"};
  // One that a killed run left: the journal says it is ours.
  if (auto removed = remove_file(beside); !removed) return tl::unexpected(removed.error());
  // Held until the new name has settled: the boot loader may still be led to the old file's blocks,
  // which must not be given to another one.
  const Fd old(::openat(file.directory, file.name.c_str(),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  Result<void> done = fill(beside, content, attributes, kind);
  if (done) done = settle_for_boot_loader(file);
  if (done && last_look) done = last_look();
  if (done &&
      ::renameat(file.directory, beside.name.c_str(), file.directory, file.name.c_str()) != 0)
    done = fail_errno(errno, file.path, "put the new file in its place");
  if (!done) {
    ::unlinkat(file.directory, beside.name.c_str(), 0);
    return done;
  }
  done = sync_directory(file.directory, file.path);
  return done ? settle_for_boot_loader(file) : done;
}

Result<void> create_file(const At& file, const ByteSource& content) {
  Result<Fd> fd = create_exclusively(file);
  if (!fd) return tl::unexpected(fd.error());
  Result<void> done = write_content(fd->get(), file.path, content);
  if (done) done = sync_file(fd->get(), file.path);
  if (!done) {
    ::unlinkat(file.directory, file.name.c_str(), 0);
    return done;
  }
  return sync_directory(file.directory, file.path);
}

Result<Fd> open_log(const At& file) {
  Fd fd(::openat(file.directory, file.name.c_str(),
                 O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, file.path, "open for appending");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, file.path, "stat");
  if (!S_ISREG(status.st_mode))
    return fail(ErrorKind::wrong_type, file.path, "is not a regular file");
  if (auto done = sync_directory(file.directory, file.path); !done)
    return tl::unexpected(done.error());
  return fd;
}

Result<void> append_synced(int fd, const std::string& path, std::string_view bytes) {
  struct stat before {};
  if (::fstat(fd, &before) != 0) return fail_errno(errno, path, "stat");
  Result<void> done = write_all(fd, path, bytes);
  if (done) done = sync_file(fd, path);
  if (!done) {
    [[maybe_unused]] const int cut = ::ftruncate(fd, before.st_size);
  }
  return done;
}

Result<void> truncate_to(int fd, const std::string& path, std::uint64_t length) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return fail_errno(errno, path, "stat");
  if (static_cast<std::uint64_t>(now.st_size) <= length) return {};
  if (::ftruncate(fd, static_cast<off_t>(length)) != 0) return fail_errno(errno, path, "cut");
  return {};
}

Result<bool> remove_file(const At& file) {
  if (::unlinkat(file.directory, file.name.c_str(), 0) != 0) {
    if (errno == ENOENT) return false;
    return fail_errno(errno, file.path, "remove");
  }
  if (auto done = sync_directory(file.directory, file.path); !done)
    return tl::unexpected(done.error());
  return true;
}

Result<bool> make_directory(const At& directory, const Attributes& attributes) {
  if (::mkdirat(directory.directory, directory.name.c_str(), 0700) != 0) {
    if (errno == EEXIST) return false;
    return fail_errno(errno, directory.path, "create the directory");
  }
  const Fd fd(::openat(directory.directory, directory.name.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Result<void> done = fd ? write_attributes(fd.get(), directory.path, attributes, Bytes::original)
                         : Result<void>(fail_errno(errno, directory.path, "open the directory"));
  if (done) done = sync_directory(fd.get(), directory.path);
  if (done) done = sync_directory(directory.directory, directory.path);
  if (!done) {
    ::unlinkat(directory.directory, directory.name.c_str(), AT_REMOVEDIR);
    return tl::unexpected(done.error());
  }
  return true;
}

Result<bool> remove_empty_directory(const At& directory) {
  if (::unlinkat(directory.directory, directory.name.c_str(), AT_REMOVEDIR) != 0) {
    if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) return false;
    return fail_errno(errno, directory.path, "remove the directory");
  }
  if (auto done = sync_directory(directory.directory, directory.path); !done)
    return tl::unexpected(done.error());
  return true;
}

Result<void> remove_tree(const At& tree) {
  struct stat status {};
  if (::fstatat(tree.directory, tree.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, tree.path, "stat");
  }
  if (!S_ISDIR(status.st_mode)) {
    if (auto done = remove_file(tree); !done) return tl::unexpected(done.error());
    return {};
  }
  // A killed dracut's last process may still be creating a file: then the directory is not empty.
  constexpr int tries = 3;
  Result<void> done = empty_and_remove(tree, status.st_dev);
  for (int again = 1; !done && again < tries; ++again) {
    ::usleep(50000);
    done = empty_and_remove(tree, status.st_dev);
  }
  return done ? sync_directory(tree.directory, tree.path) : done;
}

Result<void> rename_file(const At& from, const std::string& to) {
  // renameat2(2) by number: EL 8's glibc has the function, but not every file system the flag.
  if (::syscall(SYS_renameat2, from.directory, from.name.c_str(), from.directory, to.c_str(),
                RENAME_NOREPLACE) == 0)
    return sync_directory(from.directory, from.path);
  if (errno != EINVAL && errno != ENOSYS) return fail_errno(errno, from.path, "rename");
  if (::linkat(from.directory, from.name.c_str(), from.directory, to.c_str(), 0) != 0)
    return fail_errno(errno, from.path, "rename");
  if (::unlinkat(from.directory, from.name.c_str(), 0) != 0)
    return fail_errno(errno, from.path, "rename");
  return sync_directory(from.directory, from.path);
}

Result<void> sync_directory(int fd, const std::string& path) {
  // EINVAL: a file system without directory sync (some FUSE and network ones) has nothing to sync.
  if (retry([&] { return ::fsync(fd); }) != 0 && errno != EINVAL)
    return fail_errno(errno, path, "sync its directory");
  return {};
}

Result<Space> space_at(int directory, const std::string& path) {
  struct statvfs system {};
  struct stat status {};
  if (retry([&] { return ::fstatvfs(directory, &system); }) != 0)
    return fail_errno(errno, path, "ask for its free space");
  if (::fstat(directory, &status) != 0) return fail_errno(errno, path, "stat");
  Space space;
  space.block = system.f_frsize;
  space.free_bytes = std::uint64_t{system.f_bavail} * system.f_frsize;
  if (system.f_files > 0) space.free_inodes = system.f_favail;
  space.read_only = (system.f_flag & ST_RDONLY) != 0;
  space.device = status.st_dev;
  return space;
}

std::string locked_by_flags(int fd) {
  int flags = 0;
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return "";
  if ((flags & FS_IMMUTABLE_FL) != 0) return "is immutable (chattr -i lifts that)";
  if ((flags & FS_APPEND_FL) != 0) return "is append-only (chattr -a lifts that)";
  return "";
}

bool can_write_into(int directory) {
  return ::faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

}  // namespace preflight
