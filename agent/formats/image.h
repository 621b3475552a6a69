// SPDX-License-Identifier: MIT
// An initramfs image as the kernel unpacks it: a sequence of zero padding, cpio archives and
// compressed members (Documentation/driver-api/early-userspace/buffer-format.rst and
// init/initramfs.c of the kernel). Pure: bytes come from a callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/result.h"

namespace preflight {

enum class Compression { none, gzip, bzip2, lzma, xz, zstd, lz4_legacy, lzo };

std::string_view to_string(Compression compression);

/// One cpio archive of the image. `offset` is in bytes, in the image (of the compressed member's
/// first byte when compressed).
struct ImageSegment {
  std::uint64_t offset = 0;
  Compression compression = Compression::none;
  std::uint64_t entries = 0;
};

struct ImageFile {
  std::uint32_t mode = 0;                             // st_mode
  std::uint64_t size = 0;                             // bytes
  std::string link_target = {};                       // of a symlink
  std::optional<std::string> content = std::nullopt;  // of a regular file that was asked for
};

/// What unpacking the image leaves in the initial root file system. Names have no leading slash
/// and no symlinked parents ("usr/lib/modules/..."); later files have replaced earlier ones.
class Image {
 public:
  std::vector<ImageSegment> segments;
  std::map<std::string, ImageFile, std::less<>> files;

  /// Set when the image could not be read to its end; `files` holds what came before.
  /// malformed: the kernel stops there as well (cut, garbage). unsupported or too_large: only this
  /// reader stops there, so nothing may be called absent.
  std::optional<Error> damage;

  /// Parts whose content is not looked into (squashfs-root.img, erofs-root.img): nothing may be
  /// called absent from an image that has them.
  std::vector<std::string> opaque_parts;

  /// True when a file that was not found may still be there.
  bool may_hold_more() const;

  /// The file a path leads to, symlinks followed inside the image (at most 40). Leading "/"
  /// allowed.
  const ImageFile* find(std::string_view path) const;

  /// The canonical name a path leads to, or nullopt when a component is missing.
  std::optional<std::string> resolve(std::string_view path) const;

  /// Content of a file that was asked for; nullptr when absent or not kept.
  const std::string* content(std::string_view path) const;

  /// Names directly inside a directory (symlinks to it followed), sorted.
  std::vector<std::string> list(std::string_view directory) const;
};

/// Whether a kernel of that release unpacks such an initramfs. zstd came with 5.9 (usr/Kconfig,
/// RD_ZSTD), and EL 8's 4.18 has not got it (its kernel-x86_64.config sets RD_GZIP, BZIP2, LZMA,
/// XZ, LZO and LZ4 alone).
bool kernel_unpacks(std::string_view kernel_release, Compression compression);

struct ImageLimits {
  std::uint64_t unpacked_bytes = std::uint64_t{4} << 30;  // a decompression bomb stops here
  std::uint64_t entries = 100000;
  std::uint64_t name_bytes = 8u << 20;       // all names and link targets together
  std::uint64_t kept_file = 8u << 20;        // one kept index of modules
  std::uint64_t kept_text = 256u << 10;      // one kept content of another kind
  std::uint64_t kept_total = 16u << 20;      // all kept contents together
  std::uint64_t decoder_memory = 68u << 20;  // what an xz/lzma/zstd window may ask for: xz -9 fits
};

/// About how much memory an image takes once it is read.
std::uint64_t memory_of(const Image& image);

/// What is left for the next image when those read before it take that much memory: a guest with
/// many images must not need more than one with few.
ImageLimits limits_beside(std::uint64_t taken);

/// Fills the span with the next bytes of the image; returns how many, 0 at the end.
using ByteSource = std::function<Result<std::size_t>(std::span<std::byte>)>;

/// Whether the content of the regular file with this name is to be kept.
using KeepContent = std::function<bool(std::string_view name)>;

/// Reads a whole image as a stream in bounded memory. Errors are those of `source` (io) alone; what
/// is wrong with the image itself is in `Image::damage`, whose path is `name`.
Result<Image> read_image(const std::string& name, const ByteSource& source, const KeepContent& keep,
                         const ImageLimits& limits = {});

/// The contents that the checks ask for: module indexes, modprobe.d, lvm configuration, command
/// line files, dracut's own records.
bool is_wanted_content(std::string_view name);

}  // namespace preflight
