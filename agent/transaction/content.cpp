// SPDX-License-Identifier: MIT
#include "agent/transaction/content.h"

#include <zlib.h>

#include <algorithm>
#include <span>
#include <vector>

namespace preflight {

namespace {

constexpr std::size_t buffer_size = 1u << 16;

/// Fills the buffer unless the source ends before.
Result<std::size_t> fill(const ByteSource& source, std::span<std::byte> into) {
  std::size_t used = 0;
  while (used < into.size()) {
    Result<std::size_t> got = source(into.subspan(used));
    if (!got) return got;
    if (*got == 0) break;
    used += *got;
  }
  return used;
}

}  // namespace

Result<Digest> digest_of(const ByteSource& source) {
  std::vector<std::byte> buffer(buffer_size);
  Digest digest;
  uLong crc = ::crc32(0, nullptr, 0);
  for (;;) {
    Result<std::size_t> got = source(buffer);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(buffer.data()), static_cast<uInt>(*got));
    digest.size += *got;
  }
  digest.crc32 = static_cast<std::uint32_t>(crc);
  return digest;
}

Result<bool> same_bytes(const ByteSource& a, const ByteSource& b) {
  std::vector<std::byte> from_a(buffer_size);
  std::vector<std::byte> from_b(buffer_size);
  for (;;) {
    Result<std::size_t> got_a = fill(a, from_a);
    if (!got_a) return tl::unexpected(got_a.error());
    Result<std::size_t> got_b = fill(b, from_b);
    if (!got_b) return tl::unexpected(got_b.error());
    const auto end = from_a.begin() + static_cast<std::ptrdiff_t>(*got_a);
    if (*got_a != *got_b || !std::equal(from_a.begin(), end, from_b.begin())) return false;
    if (*got_a == 0) return true;
  }
}

}  // namespace preflight
