// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "agent/formats/image.h"
#include "agent/result.h"

namespace preflight {

/// Size and CRC-32 of a file's bytes: tells whether somebody has written another file since. It
/// guards against accidents, not against root, who could as well edit the journal; where the very
/// bytes are at hand (a backup, a planned text) those are compared.
struct Digest {
  std::uint64_t size = 0;  // bytes
  std::uint32_t crc32 = 0;

  bool operator==(const Digest&) const = default;
};

/// Errors: those of `source`.
Result<Digest> digest_of(const ByteSource& source);
Result<bool> same_bytes(const ByteSource& a, const ByteSource& b);

}  // namespace preflight
