// SPDX-License-Identifier: MIT
#include "agent/formats/ramfs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <iterator>
#include <utility>

namespace preflight {

namespace {

// Data may come with any name of a hard-linked file (GNU cpio: with the last one), so it has to be
// held before it is known whether one of the names is wanted. What the checks ask for is far
// smaller; a larger file is taken for one that nobody will ask for.
constexpr std::uint64_t linked_file_cap = 1u << 20;

std::string link_key(const CpioEntry& entry) {
  return fmt::format("{}:{}:{}:{}", entry.major, entry.minor, entry.ino, entry.mode & S_IFMT);
}

}  // namespace

RamFs::RamFs(const KeepContent& keep, const ImageLimits& limits) : keep_(keep), limits_(limits) {
  // usr/default_cpio_list of the kernel: what its built-in image holds before ours is unpacked.
  for (const auto& [name, mode] : {std::pair{"dev", S_IFDIR | 0755},
                                   {"dev/console", S_IFCHR | 0600},
                                   {"root", S_IFDIR | 0700}}) {
    auto inode = std::make_shared<Inode>();
    inode->file.mode = static_cast<std::uint32_t>(mode);
    inode->from_kernel = true;
    tree_.emplace(name, std::move(inode));
  }
}

bool RamFs::create(const CpioEntry& entry) {
  if (S_ISREG(entry.mode)) return create_file(entry);
  if (S_ISDIR(entry.mode)) {
    create_directory(entry);
  } else if (S_ISLNK(entry.mode)) {
    create_symlink(entry);
  } else if (S_ISBLK(entry.mode) || S_ISCHR(entry.mode) || S_ISFIFO(entry.mode) ||
             S_ISSOCK(entry.mode)) {
    create_node(entry);
  }
  return false;
}

/// The canonical name at which `name` is created: its parents are followed, it itself is not.
std::optional<std::string> RamFs::locate(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (last.empty() || last == "." || last == ".." || last.size() > 255) return std::nullopt;
  std::optional<std::string> place =
      locate_in(slash == std::string_view::npos ? std::string_view() : name.substr(0, slash));
  if (!place) return std::nullopt;
  if (!place->empty()) *place += '/';
  *place += last;
  return place;
}

std::optional<std::string> RamFs::locate_in(std::string_view directory) {
  if (cached_ && directory == cached_directory_) return cached_place_;
  const auto lookup = [this](const std::string& name) -> std::optional<WalkedNode> {
    const auto node = tree_.find(name);
    if (node == tree_.end()) return std::nullopt;
    const ImageFile& file = node->second->file;
    return WalkedNode{file.mode & S_IFMT, S_ISLNK(file.mode) ? &file.link_target : nullptr};
  };
  std::optional<std::string> place = ImageWalk(lookup, budget_).run(directory, true);
  if (budget_.exhausted()) overrun_ = "its names lead over too many links and directories";
  if (!place || (!place->empty() && !S_ISDIR(type_at(*place)))) return std::nullopt;
  cached_ = true;
  cached_directory_ = directory;
  cached_place_ = *place;
  return place;
}

mode_t RamFs::type_at(const std::string& name) const {
  const auto node = tree_.find(name);
  return node == tree_.end() ? 0 : node->second->file.mode & S_IFMT;
}

bool RamFs::has_children(const std::string& name) const {
  const auto next = tree_.lower_bound(name + '/');
  return next != tree_.end() && next->first.compare(0, name.size() + 1, name + '/') == 0;
}

/// clean_path: an entry of another type gives way, unless it is a directory that is not empty.
void RamFs::clean(const std::string& name, mode_t wanted_type) {
  const auto node = tree_.find(name);
  if (node == tree_.end()) return;
  const mode_t type = node->second->file.mode & S_IFMT;
  if (type != wanted_type && !(S_ISDIR(type) && has_children(name))) remove(node);
}

void RamFs::remove(Tree::iterator node) {
  if (!S_ISREG(node->second->file.mode)) cached_ = false;
  if (node->second.use_count() == 1) drop_content(*node->second);
  tree_.erase(node);
}

void RamFs::drop_content(Inode& inode) {
  if (inode.file.content) kept_bytes_ -= inode.file.content->size();
  inode.file.content.reset();
}

std::shared_ptr<RamFs::Inode> RamFs::add(const std::string& name, std::uint32_t mode) {
  name_bytes_ += name.size();
  if (name_bytes_ > limits_.name_bytes) overrun_ = "its names take too much memory";
  auto inode = std::make_shared<Inode>();
  inode->file.mode = mode;
  tree_.emplace(name, inode);
  return inode;
}

bool RamFs::create_file(const CpioEntry& entry) {
  const std::optional<std::string> name = locate(entry.name);
  if (name) clean(*name, S_IFREG);
  if (entry.nlink >= 2) {
    const auto [link, first] = links_.try_emplace(link_key(entry), entry.name);
    name_bytes_ += first ? entry.name.size() : 0;
    if (!first) return link_file(entry, link->second);
  }
  return name && open(entry, *name, true);
}

/// maybe_link: a further name of a file. Whatever stood there goes first, be it that very file.
bool RamFs::link_file(const CpioEntry& entry, const std::string& old_name) {
  const std::optional<std::string> name = locate(entry.name);
  if (!name) return false;
  clean(*name, 0);
  const std::optional<std::string> old_place = locate(old_name);
  const auto old = old_place ? tree_.find(*old_place) : tree_.end();
  if (old == tree_.end() || S_ISDIR(old->second->file.mode) || tree_.contains(*name)) return false;
  name_bytes_ += name->size();
  if (name_bytes_ > limits_.name_bytes) overrun_ = "its names take too much memory";
  tree_.emplace(*name, old->second);
  return S_ISREG(old->second->file.mode) && open(entry, *name, false);
}

bool RamFs::open(const CpioEntry& entry, const std::string& name, bool truncate) {
  const auto node = tree_.find(name);
  if (node != tree_.end() && !S_ISREG(node->second->file.mode)) return false;
  open_ = node != tree_.end() ? node->second : add(name, entry.mode);
  open_->file.mode = entry.mode;
  open_->wanted = open_->wanted || keep_(name);
  open_->large = open_->large || name.find("/modules.") != std::string::npos;
  if (entry.nlink >= 2 && truncate) linked_.push_back(open_);
  if (!truncate && entry.size == 0) return true;
  drop_content(*open_);
  open_->file.size = entry.size;
  keeping_ = may_keep(entry);
  if (!keeping_) return true;
  open_->file.content.emplace().reserve(entry.size);
  kept_bytes_ += entry.size;
  return true;
}

bool RamFs::may_keep(const CpioEntry& entry) const {
  if (kept_bytes_ + entry.size > limits_.kept_total) return false;
  if (open_->wanted) return entry.size <= (open_->large ? limits_.kept_file : limits_.kept_text);
  return entry.nlink >= 2 && entry.size <= linked_file_cap &&
         kept_bytes_ + entry.size <= limits_.kept_total / 2;
}

void RamFs::write(std::span<const std::byte> data) {
  if (keeping_)
    open_->file.content->append(reinterpret_cast<const char*>(data.data()), data.size());
}

void RamFs::close() {
  if (open_ && open_.use_count() == 1) drop_content(*open_);
  open_.reset();
  keeping_ = false;
}

void RamFs::abandon() {
  if (!open_) return;
  const std::shared_ptr<Inode> inode = std::move(open_);
  for (auto node = tree_.begin(); node != tree_.end();)
    node = node->second == inode ? tree_.erase(node) : std::next(node);
  close();
}

void RamFs::forget_links() {
  links_.clear();
  for (const std::shared_ptr<Inode>& inode : linked_)
    if (!inode->wanted || inode.use_count() == 1) drop_content(*inode);
  linked_.clear();
}

void RamFs::create_directory(const CpioEntry& entry) {
  // mkdir("lib/") looks through a link named lib and finds that the directory exists.
  std::string_view name = entry.name;
  const bool through_link = name.ends_with('/');
  while (name.ends_with('/')) name.remove_suffix(1);
  if (name.empty() || (through_link && locate_in(name))) return;
  const std::optional<std::string> place = locate(name);
  if (!place) return;
  clean(*place, S_IFDIR);
  const auto node = tree_.find(*place);
  if (node == tree_.end()) {
    add(*place, entry.mode);
  } else if (S_ISDIR(node->second->file.mode)) {
    node->second->file.mode = entry.mode;
    node->second->from_kernel = false;
  }
}

void RamFs::create_symlink(const CpioEntry& entry) {
  const std::optional<std::string> name = locate(entry.name);
  if (!name) return;
  clean(*name, 0);
  if (tree_.contains(*name) || entry.link_target.empty()) return;
  const std::shared_ptr<Inode> inode = add(*name, entry.mode);
  inode->file.link_target = entry.link_target;
  inode->file.size = entry.link_target.size();
  name_bytes_ += entry.link_target.size();
}

void RamFs::create_node(const CpioEntry& entry) {
  const std::optional<std::string> name = locate(entry.name);
  if (!name) return;
  clean(*name, entry.mode & S_IFMT);
  const auto node = tree_.find(*name);
  if (node == tree_.end()) {
    add(*name, entry.mode);
  } else if ((node->second->file.mode & S_IFMT) == (entry.mode & S_IFMT)) {
    node->second->file.mode = entry.mode;
    node->second->from_kernel = false;
  }
}

std::map<std::string, ImageFile, std::less<>> RamFs::take() {
  forget_links();
  std::map<std::string, ImageFile, std::less<>> files;
  // Each node goes once it is taken over: a tree of many files is not there twice.
  for (auto node = tree_.begin(); node != tree_.end(); node = tree_.erase(node)) {
    const auto& [name, inode] = *node;
    if (inode->from_kernel) continue;
    const bool wanted = inode->file.content && keep_(name);
    auto& file = files.emplace_hint(files.end(), name, ImageFile{})->second;
    file.mode = inode->file.mode;
    file.size = inode->file.size;
    file.link_target = inode->file.link_target;
    if (!wanted) continue;
    if (inode.use_count() == 1) {
      file.content = std::move(inode->file.content);
    } else if (kept_bytes_ + inode->file.content->size() <= limits_.kept_total) {
      kept_bytes_ += inode->file.content->size();
      file.content = inode->file.content;
    }
  }
  return files;
}

}  // namespace preflight
