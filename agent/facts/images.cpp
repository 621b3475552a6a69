// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/facts/boot.h"
#include "agent/parallel.h"

namespace preflight {

namespace {

// The kernel has to hold the image and what comes out of it in memory; no boot image is near it.
constexpr std::uint64_t image_file_cap = std::uint64_t{2} << 30;

// Each holds a decoder: more of them would be faster than anybody needs and take its memory.
constexpr std::size_t side_by_side = 2;

struct OpenImage {
  std::string path;
  Fd fd;
};

Result<OpenImage> open_image(const Root& root, const std::string& path) {
  Result<Fd> fd = root.open_file(path);
  if (!fd) return tl::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return fail_errno(errno, path, "stat");
  if (static_cast<std::uint64_t>(status.st_size) > image_file_cap)
    return fail(
        ErrorKind::too_large, path,
        fmt::format("{} bytes, larger than the cap of {} bytes", status.st_size, image_file_cap));
  return OpenImage{path, std::move(*fd)};
}

/// The files one behind the other, each begun at a multiple of four bytes as GRUB loads them
/// (grub-core/loader/linux.c grub_initrd_load: ALIGN_UP (size, 4), the gap zeroed).
class ImageFiles {
 public:
  explicit ImageFiles(std::vector<OpenImage> files) : files_(std::move(files)) {}

  Result<std::size_t> read(std::span<std::byte> into) {
    while (at_ < files_.size()) {
      const Result<std::size_t> got = read_file(into);
      if (!got || *got > 0) return got;
      const std::size_t padding = (4 - offset_ % 4) % 4;
      offset_ = 0;
      if (++at_ == files_.size() || padding == 0) continue;
      const std::size_t count = std::min(padding, into.size());
      std::fill_n(into.begin(), count, std::byte{0});
      return count;
    }
    return 0;
  }

 private:
  Result<std::size_t> read_file(std::span<std::byte> into) {
    const OpenImage& file = files_[at_];
    const std::uint64_t left = image_file_cap - offset_;
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left));
    for (;;) {
      const ssize_t got = ::pread(file.fd.get(), into.data(), wanted, static_cast<off_t>(offset_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, file.path, "read");
      offset_ += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
  }

  std::vector<OpenImage> files_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
};

/// For each of those that are read side by side.
ImageLimits shared(ImageLimits limits) {
  limits.entries /= side_by_side;
  limits.name_bytes /= side_by_side;
  limits.kept_total /= side_by_side;
  limits.decoder_memory /= side_by_side;
  return limits;
}

/// Whether more room could have made a difference.
bool is_cramped(const Image& image) {
  if (image.damage && image.damage->kind == ErrorKind::too_large) return true;
  return std::any_of(image.files.begin(), image.files.end(), [](const auto& entry) {
    const auto& [name, file] = entry;
    return S_ISREG(file.mode) && !file.content && file.size <= ImageLimits{}.kept_file &&
           is_wanted_content(name);
  });
}

/// The images of a menu, each once.
class ImageReader {
 public:
  ImageReader(const Root& root, const BootMenu& menu, const ProgressSink& progress)
      : root_(root), progress_(progress) {
    // The one that decides comes first.
    if (menu.default_index) add(menu.entries[*menu.default_index]);
    for (const BootEntry& entry : menu.entries) add(entry);
  }

  std::size_t count() const { return entries_.size(); }

  /// The first has all the room there is, the others what is left.
  Images read_in_turn() const {
    Images images;
    std::uint64_t taken = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      Result<Image> image = read(i, limits_beside(taken));
      if (image) taken += memory_of(*image);
      images.emplace(entries_[i]->image_key(), std::move(image));
    }
    return images;
  }

  /// nullopt: one of them could do with more room than there is for each.
  std::optional<Images> read_side_by_side() const {
    const std::vector<std::size_t> order = largest_first();
    std::vector<Result<Image>> images(count(), fail(ErrorKind::missing, "", "not read"));
    std::atomic<std::uint64_t> taken = 0;
    std::atomic<bool> cramped = false;
    for_each_index(count(), side_by_side, [&](std::size_t turn) {
      if (cramped) return;
      Result<Image>& image = images[order[turn]];
      image = read(order[turn], shared(limits_beside(taken)));
      if (!image) return;
      taken += memory_of(*image);
      if (is_cramped(*image)) cramped = true;
    });
    if (cramped) return std::nullopt;
    Images read;
    for (std::size_t i = 0; i < count(); ++i)
      read.emplace(entries_[i]->image_key(), std::move(images[i]));
    return read;
  }

 private:
  void add(const BootEntry& entry) {
    if (const std::string key = entry.image_key(); !key.empty() && keys_.insert(key).second)
      entries_.push_back(&entry);
  }

  Result<Image> read(std::size_t index, const ImageLimits& limits) const {
    const BootEntry& entry = *entries_[index];
    const Underway reading(
        progress_, fmt::format("reading {} ({} of {})", entry.image_key(), index + 1, count()),
        false);
    return read_guest_image(root_, entry.initrds, limits);
  }

  /// So that no thread is left with the largest when the others have done all the rest.
  std::vector<std::size_t> largest_first() const {
    std::vector<std::pair<std::int64_t, std::size_t>> sizes;
    for (std::size_t i = 0; i < count(); ++i) {
      std::int64_t size = 0;
      for (const std::string& path : entries_[i]->initrds)
        if (const auto status = root_.stat(path)) size += status->st_size;
      sizes.emplace_back(-size, i);
    }
    std::sort(sizes.begin(), sizes.end());
    std::vector<std::size_t> order;
    for (const auto& [size, index] : sizes) order.push_back(index);
    return order;
  }

  const Root& root_;
  const ProgressSink& progress_;
  std::vector<const BootEntry*> entries_;
  std::set<std::string> keys_;
};

}  // namespace

Result<Image> read_guest_image(const Root& root, const std::vector<std::string>& paths,
                               const ImageLimits& limits) {
  std::vector<OpenImage> open_files;
  std::string name;
  for (const std::string& path : paths) {
    Result<OpenImage> file = open_image(root, path);
    if (!file) return tl::unexpected(file.error());
    open_files.push_back(std::move(*file));
    name += (name.empty() ? "" : " + ") + path;
  }
  ImageFiles files(std::move(open_files));
  return read_image(
      name, [&files](std::span<std::byte> into) { return files.read(into); }, is_wanted_content,
      limits);
}

Images collect_images(const Guest& guest, const Result<BootMenu>& menu,
                      const ProgressSink& progress) {
  if (!menu) return {};
  const ImageReader reader(guest.root, *menu, progress);
  if (reader.count() > 1)
    if (std::optional<Images> images = reader.read_side_by_side()) return std::move(*images);
  return reader.read_in_turn();
}

}  // namespace preflight
