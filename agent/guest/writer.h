// SPDX-License-Identifier: MIT
// The only place that changes a guest's tree. Every name is relative to an opened directory (see
// Root::place), so a symlink of the guest cannot lead a write out of it. A file gets its new bytes
// beside the old one and is renamed: at any instant it is whole, and old or new.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/image.h"
#include "agent/guest/fd.h"
#include "agent/guest/root.h"
#include "agent/result.h"

namespace preflight {

/// A name in an opened directory; `directory` must outlive it. `path` is for messages.
struct At {
  int directory = -1;
  std::string name;
  std::string path;
};

At at(const Root::Place& place);

/// `name` inside the opened directory `directory`, whose guest path is `path`.
At inside(const Fd& directory, const std::string& path, const std::string& name);

/// What a file is apart from its bytes. ACLs, capabilities and the SELinux label are xattrs.
struct Attributes {
  mode_t mode = 0;  // permission bits with set-id and sticky (07777)
  uid_t uid = 0;
  gid_t gid = 0;
  timespec accessed{};
  timespec modified{};
  std::map<std::string, std::string> xattrs;

  /// The same but for the access time, which every reader changes.
  bool same_as(const Attributes& other) const;
};

/// A regular file opened for reading, never through a symlink.
struct OpenFile {
  Fd fd;
  struct stat status {};
};

/// Errors: missing, wrong_type, denied, io.
Result<OpenFile> open_regular(const At& file);

/// Whether anything (also a dangling symlink) has that name.
Result<bool> is_there(const At& file);

Result<Attributes> read_attributes(int fd, const std::string& path);

/// What a file or directory created in `directory` is to be: owned by the effective user, with the
/// parent's SELinux label (a rescue system without SELinux would leave it without one).
Result<Attributes> fresh_attributes(int directory, const std::string& path, mode_t mode);

/// Bytes for the writer, each call a source that starts at the beginning. `text` and `fd` must
/// outlive the source.
ByteSource bytes_of(std::string_view text);
ByteSource bytes_of(int fd, std::string path);

/// How the attributes belong to the bytes that are written.
enum class Bytes {
  original,  // as recorded: all of them
  changed,   // the times are those of the writing; security.ima and security.evm vouch for other
             // bytes and are left to the kernel
};

/// The name under which a file's next content is written: ".<name>.nvme-preflight-new". Neither
/// GRUB (entries/*.conf) nor dracut (*.conf) reads names that begin with a dot.
std::string temporary_name(std::string_view name);

/// Writes `content` to the temporary name, gives it the attributes, syncs it, renames it over
/// `file` and syncs the directory. On an error before the rename `file` is untouched and the
/// temporary file is removed.
/// `last_look` is asked just before the rename: writing a large file takes a while.
/// Below /boot both the new file and the rename are settled (settle.h): a boot loader too finds the
/// old file or the new one at any instant.
Result<void> replace_file(const At& file, const ByteSource& content, const Attributes& attributes,
                          Bytes kind, const std::function<Result<void>()>& last_look = nullptr);

/// Settles (settle.h) the file system of a file that a boot loader reads, one below /boot.
Result<void> settle_for_boot_loader(const At& file);

/// Creates a file of the tool's own (mode 0600), synced, its directory synced. Error if it exists.
Result<void> create_file(const At& file, const ByteSource& content);

/// A file of the tool's own that lines are appended to; created (0600) when missing.
Result<Fd> open_log(const At& file);

/// Appends and syncs. After an error the file has its former length again, as far as possible.
Result<void> append_synced(int fd, const std::string& path, std::string_view bytes);

/// Cuts the file to `length` bytes, when it is longer.
Result<void> truncate_to(int fd, const std::string& path, std::uint64_t length);

/// Removes a file; true if it was there. The directory is synced.
Result<bool> remove_file(const At& file);

/// Creates a directory with these attributes (times ignored); false when it was there already.
Result<bool> make_directory(const At& directory, const Attributes& attributes);

/// Removes an empty directory. False: it is missing, or not empty and therefore left alone.
Result<bool> remove_empty_directory(const At& directory);

/// Removes whatever has this name, a directory with everything below it on the same file system.
Result<void> remove_tree(const At& tree);

/// Renames within one directory; error if `to` exists. The directory is synced.
Result<void> rename_file(const At& from, const std::string& to);

Result<void> sync_directory(int fd, const std::string& path);

/// What a file system has left. `inodes` is empty where it has no fixed number of them.
struct Space {
  std::uint64_t free_bytes = 0;
  std::uint64_t block = 4096;
  std::optional<std::uint64_t> free_inodes;
  bool read_only = false;
  std::uint64_t device = 0;  // st_dev: names the file system
};
Result<Space> space_at(int directory, const std::string& path);

/// Why a file or directory with this fd could not be replaced or added to (immutable or append-only
/// flag, chattr(1)); "" when nothing speaks against it.
std::string locked_by_flags(int fd);

/// Whether the effective user may create and remove names in this directory.
bool can_write_into(int directory);

}  // namespace preflight
