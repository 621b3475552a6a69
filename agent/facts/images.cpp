// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "agent/facts/boot.h"

namespace preflight {

namespace {

// The kernel has to hold the image and what comes out of it in memory; no boot image is near it.
constexpr std::uint64_t image_file_cap = std::uint64_t{2} << 30;

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
  Images images;
  if (!menu) return images;
  std::set<std::string> keys;
  for (const BootEntry& entry : menu->entries)
    if (std::string key = entry.image_key(); !key.empty()) keys.insert(std::move(key));
  std::uint64_t taken = 0;
  const auto collect = [&](const BootEntry& entry) {
    const std::string key = entry.image_key();
    if (key.empty() || images.contains(key)) return;
    const Underway reading(
        progress, fmt::format("reading {} ({} of {})", key, images.size() + 1, keys.size()), false);
    const auto image =
        images.emplace(key, read_guest_image(guest.root, entry.initrds, limits_beside(taken)))
            .first;
    if (image->second) taken += memory_of(*image->second);
  };
  // The one that decides has all the room there is.
  if (menu->default_index) collect(menu->entries[*menu->default_index]);
  for (const BootEntry& entry : menu->entries) collect(entry);
  return images;
}

}  // namespace preflight
