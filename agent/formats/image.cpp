// SPDX-License-Identifier: MIT
#include "agent/formats/image.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "agent/formats/cpio.h"
#include "agent/formats/decompress.h"
#include "agent/formats/image_walk.h"
#include "agent/formats/ramfs.h"

namespace preflight {

namespace {

using Bytes = std::span<const std::byte>;

/// The image as a window that slides over its bytes.
class Input {
 public:
  explicit Input(const ByteSource& source) : source_(source), buffer_(256u << 10) {}

  /// At least `lookahead` bytes from here on, or all that are left.
  Result<Bytes> window(std::size_t lookahead) {
    while (end_ - begin_ < lookahead && !at_end_) {
      if (auto more = refill(); !more) return tl::unexpected(more.error());
    }
    return Bytes(buffer_).subspan(begin_, end_ - begin_);
  }

  void consume(std::size_t count) {
    begin_ += count;
    offset_ += count;
  }

  std::uint64_t offset() const { return offset_; }
  /// True when the window reaches the end of the image.
  bool at_end() const { return at_end_; }

 private:
  Result<void> refill() {
    if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    Result<std::size_t> got = source_(std::span(buffer_).subspan(end_));
    if (!got) return tl::unexpected(got.error());
    at_end_ = *got == 0;
    end_ += std::min(*got, buffer_.size() - end_);
    return {};
  }

  const ByteSource& source_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
  bool at_end_ = false;
};

/// unpack_to_rootfs of the kernel (init/initramfs.c).
class Unpacker {
 public:
  Unpacker(const std::string& name, const ByteSource& source, const KeepContent& keep,
           const ImageLimits& limits)
      : name_(name),
        limits_(limits),
        input_(source),
        fs_(keep, limits),
        cpio_(fs_, image_.segments, limits) {}

  Result<Image> run() {
    while (!image_.damage) {
      Result<Bytes> window = input_.window(lookahead);
      if (!window) return tl::unexpected(window.error());
      if (window->empty()) break;
      if (auto done = next(*window); !done) return tl::unexpected(done.error());
    }
    if (image_.damage) cpio_.abandon();
    image_.files = fs_.take();
    note_opaque_parts();
    return std::move(image_);
  }

 private:
  // Enough for every magic and for an lz4 chunk's size.
  static constexpr std::size_t lookahead = 16;

  Result<void> next(Bytes window) {
    if (window.front() == std::byte{'0'} && input_.offset() % 4 == 0) return unpack_plain();
    if (window.front() != std::byte{0}) return unpack_member(window);
    const auto end =
        std::find_if(window.begin(), window.end(), [](std::byte b) { return b != std::byte{0}; });
    input_.consume(static_cast<std::size_t>(end - window.begin()));
    return {};
  }

  Result<void> unpack_plain() {
    cpio_.enter(input_.offset(), Compression::none);
    cpio_.begin_archive();
    for (;;) {
      Result<Bytes> window = input_.window(1);
      if (!window) return tl::unexpected(window.error());
      if (window->empty()) break;
      const std::size_t used = cpio_.write(*window);
      input_.consume(used);
      if (!accepted(used)) return {};
      if (used < window->size()) return {};
    }
    // The kernel takes this for the end without a word; the file that was cut is useless all the
    // same.
    if (!cpio_.between_entries() && !cpio_.lacks_padding_only())
      damage(ErrorKind::malformed, fmt::format("it is cut: it ends at byte {}, inside {}",
                                               input_.offset(), cpio_.unfinished()));
    return {};
  }

  Result<void> unpack_member(Bytes window) {
    const Compression compression = detect_compression(window);
    if (compression == Compression::none) {
      damage(ErrorKind::malformed, unknown_magic(window));
      return {};
    }
    member_ = fmt::format("{} member at byte {}", to_string(compression), input_.offset());
    Result<std::unique_ptr<Decoder>> decoder = make_decoder(compression, limits_.decoder_memory);
    if (!decoder) {
      image_.segments.push_back({input_.offset(), compression, 0});
      damage(decoder.error());
      return {};
    }
    cpio_.enter(input_.offset(), compression);
    return decode(**decoder);
  }

  Result<void> decode(Decoder& decoder) {
    for (;;) {
      Result<Bytes> window = input_.window(lookahead);
      if (!window) return tl::unexpected(window.error());
      Result<Decoded> step = decoder.feed(*window, input_.at_end());
      if (!step) {
        damage(step.error());
        return {};
      }
      input_.consume(step->consumed);
      if (!unpack(step->output)) return {};
      if (step->finished) break;
      if (step->consumed == 0 && step->output.empty() && input_.at_end()) {
        damage(ErrorKind::malformed, fmt::format("{}: its data leads nowhere", member_));
        return {};
      }
    }
    // A decoder of the kernel reads one stream; what it gave has to end with an entry.
    if (!cpio_.between_entries())
      damage(ErrorKind::malformed,
             fmt::format("{}: it ends inside {}", member_, cpio_.unfinished()));
    return {};
  }

  /// What a decoder gave. False when there is damage.
  bool unpack(Bytes output) {
    const std::size_t used = cpio_.write(output);
    if (!accepted(output.size())) return false;
    if (used == output.size()) return true;
    damage(ErrorKind::malformed,
           fmt::format("{}: behind the entry before byte {} of what it unpacks to comes neither "
                       "padding nor a cpio header",
                       member_, cpio_.position()));
    return false;
  }

  bool accepted(std::size_t unpacked) {
    unpacked_ += unpacked;
    if (cpio_.problem()) {
      damage(cpio_.problem()->kind, cpio_.problem()->what);
    } else if (unpacked_ > limits_.unpacked_bytes) {
      damage(ErrorKind::too_large,
             fmt::format("it unpacks to more than {} bytes", limits_.unpacked_bytes));
    }
    return !image_.damage;
  }

  std::string unknown_magic(Bytes window) const {
    std::string found;
    for (const std::byte byte : window.first(std::min<std::size_t>(window.size(), 4)))
      found += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
    const bool lz4_frame = found == " 04 22 4d 18";
    return fmt::format("at byte {}: expected padding, a cpio header or compressed data, found{}{}",
                       input_.offset(), found,
                       lz4_frame ? " (an lz4 frame; the kernel reads lz4 -l alone)" : "");
  }

  void damage(const Error& error) {
    damage(error.kind, fmt::format("{}: {}", member_, error.what));
  }
  void damage(ErrorKind kind, std::string what) {
    image_.damage = Error{kind, name_, 0, std::move(what)};
  }

  /// dracut's squash modules put everything into one of these; the archive around it holds hardly
  /// more than what mounts it (dracut 99squash, 95squash-lib).
  void note_opaque_parts() {
    for (const std::string_view part :
         {"squash-root.img", "squashfs-root.img", "erofs-root.img", "squash/root.img"})
      if (const auto file = image_.files.find(part);
          file != image_.files.end() && S_ISREG(file->second.mode))
        image_.opaque_parts.emplace_back(part);
  }

  const std::string& name_;
  const ImageLimits& limits_;
  Input input_;
  Image image_;
  RamFs fs_;
  CpioReader cpio_;
  std::string member_;
  std::uint64_t unpacked_ = 0;
};

/// A directory that no entry names still is one when something lies in it.
bool is_implicit_directory(const Image& image, const std::string& name) {
  const auto next = image.files.lower_bound(name + '/');
  return next != image.files.end() && next->first.starts_with(name + '/');
}

bool has_directory(std::string_view name, std::string_view directory) {
  return name.size() > directory.size() + 1 && name.starts_with(directory) &&
         name[directory.size()] == '/';
}

bool is_module_list(std::string_view name) {
  for (const std::string_view modules : {"lib/modules", "usr/lib/modules"}) {
    if (!has_directory(name, modules)) continue;
    const std::string_view rest = name.substr(modules.size() + 1);
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return false;
    const std::string_view file = rest.substr(slash + 1);
    constexpr std::array<std::string_view, 6> files{"modules.dep",     "modules.dep.bin",
                                                    "modules.alias",   "modules.alias.bin",
                                                    "modules.builtin", "modules.softdep"};
    return std::find(files.begin(), files.end(), file) != files.end();
  }
  return false;
}

bool is_module_configuration(std::string_view name) {
  if (!name.ends_with(".conf")) return false;
  for (const std::string_view directory : {"etc/modprobe.d", "run/modprobe.d", "lib/modprobe.d",
                                           "usr/lib/modprobe.d", "usr/local/lib/modprobe.d"})
    if (has_directory(name, directory)) return true;
  return false;
}

}  // namespace

bool kernel_unpacks(std::string_view kernel_release, Compression compression) {
  if (compression != Compression::zstd) return true;
  int major = 0, minor = 0;
  const char* const end = kernel_release.data() + kernel_release.size();
  const auto [dot, error] = std::from_chars(kernel_release.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return true;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return true;
  return major > 5 || (major == 5 && minor >= 9);
}

bool Image::may_hold_more() const {
  return !opaque_parts.empty() || (damage && damage->kind != ErrorKind::malformed);
}

std::optional<std::string> Image::resolve(std::string_view path) const {
  const auto lookup = [this](const std::string& name) -> std::optional<WalkedNode> {
    const auto file = files.find(name);
    if (file != files.end())
      return WalkedNode{file->second.mode & S_IFMT,
                        S_ISLNK(file->second.mode) ? &file->second.link_target : nullptr};
    if (is_implicit_directory(*this, name)) return WalkedNode{S_IFDIR, nullptr};
    return std::nullopt;
  };
  // A thousand times what the longest name of a real image costs.
  WalkBudget budget(1u << 20);
  return ImageWalk(lookup, budget).run(path, true);
}

const ImageFile* Image::find(std::string_view path) const {
  const std::optional<std::string> name = resolve(path);
  if (!name) return nullptr;
  const auto file = files.find(*name);
  return file == files.end() ? nullptr : &file->second;
}

const std::string* Image::content(std::string_view path) const {
  const ImageFile* const file = find(path);
  return file != nullptr && file->content ? &*file->content : nullptr;
}

std::vector<std::string> Image::list(std::string_view directory) const {
  std::vector<std::string> names;
  const std::optional<std::string> place = resolve(directory);
  if (!place) return names;
  const std::string prefix = place->empty() ? "" : *place + '/';
  auto file = files.lower_bound(prefix);
  while (file != files.end() && file->first.starts_with(prefix)) {
    const std::size_t end = std::min(file->first.find('/', prefix.size()), file->first.size());
    names.push_back(file->first.substr(prefix.size(), end - prefix.size()));
    // Past everything below it: '0' is the character behind '/'.
    const std::string past = prefix + names.back() + '0';
    file = end == file->first.size() ? std::next(file) : files.lower_bound(past);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<Image> read_image(const std::string& name, const ByteSource& source, const KeepContent& keep,
                         const ImageLimits& limits) {
  return Unpacker(name, source, keep, limits).run();
}

std::uint64_t memory_of(const Image& image) {
  constexpr std::uint64_t node = 160;  // of the map, with what is not text in it
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : image.files)
    bytes += node + name.size() + file.link_target.size() +
             (file.content ? file.content->size() : std::size_t{0});
  return bytes;
}

ImageLimits limits_beside(std::uint64_t taken) {
  constexpr std::uint64_t for_images = 40u << 20;
  constexpr std::uint64_t with_decoder = 100u << 20;
  constexpr std::uint64_t while_unpacking = 256;  // of an entry: it is held twice for a moment
  ImageLimits limits;
  const std::uint64_t left = for_images - std::min(taken, for_images);
  limits.entries = std::min(limits.entries, left / while_unpacking);
  limits.name_bytes = std::min(limits.name_bytes, left / 4);
  limits.kept_total = std::min(limits.kept_total, left / 2);
  limits.decoder_memory =
      std::min(limits.decoder_memory, with_decoder - std::min(taken, for_images));
  return limits;
}

bool is_wanted_content(std::string_view name) {
  constexpr std::array<std::string_view, 12> files{"etc/cmdline",
                                                   "etc/crypttab",
                                                   "etc/fstab",
                                                   "etc/initrd-release",
                                                   "usr/lib/initrd-release",
                                                   "etc/machine-id",
                                                   "etc/multipath.conf",
                                                   "usr/lib/dracut/build-parameter.txt",
                                                   "usr/lib/dracut/loaded-kernel-modules.txt",
                                                   "usr/lib/dracut/hostonly-kernel-modules.txt",
                                                   "usr/lib/dracut/hostonly-files",
                                                   "usr/lib/dracut/modules.txt"};
  if (std::find(files.begin(), files.end(), name) != files.end()) return true;
  for (const std::string_view directory : {"etc/cmdline.d", "etc/lvm", "lib/dracut/hooks",
                                           "usr/lib/dracut/hooks", "var/lib/dracut/hooks"})
    if (has_directory(name, directory)) return true;
  return is_module_list(name) || is_module_configuration(name);
}

}  // namespace preflight
