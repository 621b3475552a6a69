// SPDX-License-Identifier: MIT
// One-shot compressors for the tests, each in the flavour that dracut writes.
#pragma once

#include <bzlib.h>
#include <lz4.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace preflight::test {

inline void require(bool done) {
  if (!done) throw std::runtime_error("a compressor of the tests failed");
}

inline std::string gzip(std::string text) {
  z_stream stream{};
  require(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string bzip2(std::string text) {
  auto size = static_cast<unsigned>(text.size() + text.size() / 50 + 1000);
  std::string out(size, '\0');
  require(BZ2_bzBuffToBuffCompress(out.data(), &size, text.data(),
                                   static_cast<unsigned>(text.size()), 9, 0, 0) == BZ_OK);
  out.resize(size);
  return out;
}

inline std::string xz(const std::string& text, lzma_check check = LZMA_CHECK_CRC32) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  require(lzma_easy_buffer_encode(
              1, check, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
              reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

inline std::string lzma(const std::string& text, std::uint32_t dictionary = 1u << 20) {
  lzma_options_lzma options;
  require(!lzma_lzma_preset(&options, 1));
  options.dict_size = dictionary;
  lzma_stream stream = LZMA_STREAM_INIT;
  require(lzma_alone_encoder(&stream, &options) == LZMA_OK);
  std::string out(text.size() * 2 + 1000, '\0');
  stream.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out.size();
  require(lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END);
  out.resize(stream.total_out);
  lzma_end(&stream);
  return out;
}

inline std::string zstd(const std::string& text, int window_log = 0) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  // Streamed without a known size, as through a pipe: the frame says its whole window.
  if (window_log > 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string out(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_inBuffer first{text.data(), std::min<std::size_t>(1, text.size()), 0};
  require(!ZSTD_isError(ZSTD_compressStream2(context, &to, &first, ZSTD_e_continue)));
  in.pos = first.pos;
  require(ZSTD_compressStream2(context, &to, &in, ZSTD_e_end) == 0);
  out.resize(to.pos);
  ZSTD_freeCCtx(context);
  return out;
}

inline std::string little_endian(std::uint32_t number) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(number >> (8 * i));
  return out;
}

/// Chunks of 8 MiB, as lz4 -l writes them.
inline std::string lz4_legacy(const std::string& text) {
  std::string out = little_endian(0x184c2102);
  constexpr std::size_t chunk = 8u << 20;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    const std::string part = text.substr(at, chunk);
    std::string packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(part.size()))),
                       '\0');
    const int size = LZ4_compress_default(part.data(), packed.data(), static_cast<int>(part.size()),
                                          static_cast<int>(packed.size()));
    require(size > 0);
    out += little_endian(static_cast<std::uint32_t>(size)) +
           packed.substr(0, static_cast<std::size_t>(size));
  }
  return out;
}

}  // namespace preflight::test
