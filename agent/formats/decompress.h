// SPDX-License-Identifier: MIT
// The compressed members of an initramfs, one stream at a time. A decoder accepts what the kernel's
// own decoder accepts (lib/decompress*.c), so that an image read here is an image that boots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/formats/image.h"
#include "agent/result.h"

namespace preflight {

/// What one call of Decoder::feed did. `output` lies in the decoder and holds until the next call.
struct Decoded {
  std::size_t consumed = 0;
  std::span<const std::byte> output;
  bool finished = false;  // the member ended right behind what was consumed
};

/// One compressed member. Errors carry a kind and a text, no path: malformed (corrupt, cut, or a
/// flavour that the kernel refuses) or too_large (wants more memory than it may have).
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// Consumes some of `input`. `last` says that nothing comes after it: a member that then wants
  /// more is malformed.
  virtual Result<Decoded> feed(std::span<const std::byte> input, bool last) = 0;
};

/// How a member that starts with these bytes is compressed: none when the kernel knows no such
/// magic (lib/decompress.c compressed_formats: the first two bytes decide).
Compression detect_compression(std::span<const std::byte> start);

/// A decoder for one member. Errors: unsupported (lzo, none), too_large (no memory).
Result<std::unique_ptr<Decoder>> make_decoder(Compression compression, std::uint64_t memory);

}  // namespace preflight
