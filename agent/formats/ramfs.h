// SPDX-License-Identifier: MIT
// The initial root file system while an initramfs is unpacked into it. It does what the kernel's
// do_name and do_symlink (init/initramfs.c) and the VFS below them do, errors included: what cannot
// be created is silently left out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/formats/image.h"
#include "agent/formats/image_walk.h"

namespace preflight {

/// One entry of a cpio archive. `name` is as the archive has it, "/" and ".." included.
struct CpioEntry {
  std::string_view name;
  std::string_view link_target;
  std::uint32_t mode = 0;
  std::uint32_t nlink = 0;
  std::uint32_t size = 0;  // bytes of data that follow
  std::uint32_t ino = 0, major = 0, minor = 0;
};

class RamFs {
 public:
  RamFs(const KeepContent& keep, const ImageLimits& limits);

  /// Creates what the entry describes. True when it is a regular file that was opened: its data is
  /// then given to write(), and close() or abandon() ends it.
  bool create(const CpioEntry& entry);

  /// Whether the data of the open file is wanted at all; write() of the rest may be left out.
  bool wants_data() const { return keeping_; }
  void write(std::span<const std::byte> data);
  void close();
  /// The data ended early: the file does not count as being there.
  void abandon();

  /// The end of an archive: later entries no longer link to its files (free_hash).
  void forget_links();

  /// What went over a limit, empty while nothing did.
  const std::string& overrun() const { return overrun_; }

  /// The tree as it stands, without what the kernel puts there itself. Leaves this object empty.
  std::map<std::string, ImageFile, std::less<>> take();

 private:
  struct Inode {
    ImageFile file;
    bool from_kernel = false;  // in the built-in image: /dev, /dev/console, /root
    bool wanted = false;       // one of its names is asked for
    bool large = false;        // one of its names is an index of modules
  };
  using Tree = std::map<std::string, std::shared_ptr<Inode>, std::less<>>;

  std::optional<std::string> locate(std::string_view name);
  std::optional<std::string> locate_in(std::string_view directory);
  mode_t type_at(const std::string& name) const;
  bool has_children(const std::string& name) const;
  void clean(const std::string& name, mode_t wanted_type);
  void remove(Tree::iterator node);
  std::shared_ptr<Inode> add(const std::string& name, std::uint32_t mode);
  bool create_file(const CpioEntry& entry);
  bool link_file(const CpioEntry& entry, const std::string& old_name);
  bool open(const CpioEntry& entry, const std::string& name, bool truncate);
  void create_directory(const CpioEntry& entry);
  void create_symlink(const CpioEntry& entry);
  void create_node(const CpioEntry& entry);
  void drop_content(Inode& inode);
  bool may_keep(const CpioEntry& entry) const;

  const KeepContent& keep_;
  ImageLimits limits_;
  WalkBudget budget_;
  Tree tree_;
  std::unordered_map<std::string, std::string> links_;  // device and inode -> the first name
  std::vector<std::shared_ptr<Inode>> linked_;          // that may yet get another name
  std::string cached_directory_, cached_place_;         // the last parent that was walked
  bool cached_ = false;
  std::shared_ptr<Inode> open_;
  bool keeping_ = false;
  std::uint64_t name_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::string overrun_;
};

}  // namespace preflight
