// SPDX-License-Identifier: MIT
#include "agent/formats/decompress.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lz4.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

namespace preflight {

namespace {

using Bytes = std::span<const std::byte>;

// Large enough that zlib's copy of its 32 KiB window at the end of each call does not count, small
// enough to stay in a level-2 cache.
constexpr std::size_t output_size = 256u << 10;

tl::unexpected<Error> corrupt(std::string what) {
  return fail(ErrorKind::malformed, "", std::move(what));
}

tl::unexpected<Error> cut(std::string_view format) {
  return corrupt(fmt::format("the image ends inside the {} data: it is cut", format));
}

/// Called when a library took no step: at the end of the input that is a cut member.
Result<Decoded> judged(Decoded step, std::string_view format, std::size_t offered, bool last) {
  if (!step.finished && step.output.empty() && step.consumed == offered && last) return cut(format);
  return step;
}

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() : output_(output_size) {
    constexpr int gzip_only = 16;
    ready_ = inflateInit2(&stream_, MAX_WBITS + gzip_only) == Z_OK;
  }
  ~GzipDecoder() override {
    if (ready_) inflateEnd(&stream_);
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  bool ready() const { return ready_; }

  Result<Decoded> feed(Bytes input, bool last) override {
    if (auto header = check_header(input); !header) return tl::unexpected(header.error());
    // zlib's interface wants a pointer to non-const, but reads only.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
    stream_.avail_out = static_cast<uInt>(output_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return corrupt(fmt::format("gzip data is corrupt ({})",
                                 stream_.msg != nullptr ? stream_.msg : "no reason given"));
    Decoded step{input.size() - stream_.avail_in,
                 Bytes(output_).first(output_.size() - stream_.avail_out), status == Z_STREAM_END};
    return judged(step, "gzip", input.size(), last);
  }

 private:
  /// The kernel reads method 8 and skips a file name; every other optional field makes it inflate
  /// the wrong bytes, and the old magic 1f 9e is detected but refused (lib/decompress_inflate.c).
  Result<void> check_header(Bytes input) {
    constexpr std::array<unsigned, 4> magic{0x1f, 0x8b, 8, 0};
    constexpr unsigned file_name = 8;
    for (; header_ < magic.size() && !input.empty(); ++header_, input = input.subspan(1)) {
      const auto byte = std::to_integer<unsigned>(input.front());
      const unsigned optional_fields = header_ == 3 ? file_name : 0u;
      if ((byte & ~optional_fields) != magic[header_])
        return corrupt("a gzip header that the kernel does not read");
    }
    return {};
  }

  z_stream stream_{};
  std::vector<std::byte> output_;
  std::size_t header_ = 0;  // how many bytes of it were checked
  bool ready_ = false;
};

class Bzip2Decoder : public Decoder {
 public:
  Bzip2Decoder() : output_(output_size) { ready_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK; }
  ~Bzip2Decoder() override {
    if (ready_) BZ2_bzDecompressEnd(&stream_);
  }
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;

  bool ready() const { return ready_; }

  Result<Decoded> feed(Bytes input, bool last) override {
    stream_.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<unsigned>(input.size());
    stream_.next_out = reinterpret_cast<char*>(output_.data());
    stream_.avail_out = static_cast<unsigned>(output_.size());
    const int status = BZ2_bzDecompress(&stream_);
    if (status != BZ_OK && status != BZ_STREAM_END)
      return corrupt(fmt::format("bzip2 data is corrupt (libbz2 error {})", status));
    Decoded step{input.size() - stream_.avail_in,
                 Bytes(output_).first(output_.size() - stream_.avail_out), status == BZ_STREAM_END};
    return judged(step, "bzip2", input.size(), last);
  }

 private:
  bz_stream stream_{};
  std::vector<std::byte> output_;
  bool ready_ = false;
};

/// .xz and .lzma.
class LzmaDecoder : public Decoder {
 public:
  LzmaDecoder(Compression compression, std::uint64_t memory)
      : name_(compression == Compression::xz ? "xz" : "lzma"), output_(output_size) {
    ready_ =
        (compression == Compression::xz ? lzma_stream_decoder(&stream_, memory, LZMA_TELL_ANY_CHECK)
                                        : lzma_alone_decoder(&stream_, memory)) == LZMA_OK;
  }
  ~LzmaDecoder() override { lzma_end(&stream_); }
  LzmaDecoder(const LzmaDecoder&) = delete;
  LzmaDecoder& operator=(const LzmaDecoder&) = delete;

  bool ready() const { return ready_; }

  Result<Decoded> feed(Bytes input, bool last) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    stream_.avail_in = input.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(output_.data());
    stream_.avail_out = output_.size();
    lzma_ret status = lzma_code(&stream_, LZMA_RUN);
    if (status == LZMA_GET_CHECK) {
      if (const lzma_check check = lzma_get_check(&stream_);
          check != LZMA_CHECK_NONE && check != LZMA_CHECK_CRC32)
        return refused_check(check);
      status = lzma_code(&stream_, LZMA_RUN);
    }
    if (status == LZMA_MEMLIMIT_ERROR || status == LZMA_MEM_ERROR)
      return fail(ErrorKind::too_large, "",
                  fmt::format("{} data wants a dictionary larger than this reader allows", name_));
    if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR)
      return corrupt(
          fmt::format("{} data is corrupt (liblzma error {})", name_, static_cast<int>(status)));
    Decoded step{input.size() - stream_.avail_in,
                 Bytes(output_).first(output_.size() - stream_.avail_out),
                 status == LZMA_STREAM_END};
    return judged(step, name_, input.size(), last);
  }

 private:
  /// include/linux/xz.h: the kernel's decoder is built without XZ_DEC_ANY_CHECK and answers
  /// XZ_OPTIONS_ERROR to every check but none and CRC32. xz(1) writes CRC64 unless told otherwise.
  static tl::unexpected<Error> refused_check(lzma_check check) {
    return corrupt(
        fmt::format("xz data with the integrity check {}: the kernel reads only CRC32 or none "
                    "(xz --check=crc32)",
                    check == LZMA_CHECK_CRC64    ? "CRC64"
                    : check == LZMA_CHECK_SHA256 ? "SHA-256"
                                                 : "of an unknown kind"));
  }

  std::string_view name_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::vector<std::byte> output_;
  bool ready_ = false;
};

class ZstdDecoder : public Decoder {
 public:
  explicit ZstdDecoder(std::uint64_t memory)
      : stream_(ZSTD_createDStream()), output_(std::max(output_size, ZSTD_DStreamOutSize())) {
    if (stream_ == nullptr) return;
    // The largest power of two within the memory that is allowed.
    const auto window_log =
        static_cast<int>(std::bit_width(std::max<std::uint64_t>(memory, 1u << 10))) - 1;
    ready_ = ZSTD_isError(ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax,
                                                 std::min(window_log, 31))) == 0;
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  bool ready() const { return ready_; }

  Result<Decoded> feed(Bytes input, bool last) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output_.data(), output_.size(), 0};
    const std::size_t status = ZSTD_decompressStream(stream_, &out, &in);
    if (ZSTD_isError(status) != 0) {
      if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge ||
          ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation)
        return fail(ErrorKind::too_large, "",
                    "zstd data wants a window larger than this reader allows");
      return corrupt(fmt::format("zstd data is corrupt ({})", ZSTD_getErrorName(status)));
    }
    // 0: the frame has ended and all of it was handed out.
    Decoded step{in.pos, Bytes(output_).first(out.pos), status == 0};
    return judged(step, "zstd", input.size(), last);
  }

 private:
  ZSTD_DStream* stream_;
  std::vector<std::byte> output_;
  bool ready_ = false;
};

/// The legacy lz4 frame: magic, then chunks of at most 8 MiB, each behind its compressed size in
/// four bytes. It has no end mark: it goes on to the end of the image, or to a size of zero
/// (lib/decompress_unlz4.c).
class Lz4LegacyDecoder : public Decoder {
 public:
  Result<Decoded> feed(Bytes input, bool last) override {
    if (chunk_) return take_chunk(input, last);
    if (input.size() < size_field) return short_of_a_size(last);
    const std::uint32_t size = read_size(input);
    if (size == magic) {
      started_ = true;
      return Decoded{size_field, {}, false};
    }
    if (!started_) return corrupt("an lz4 frame that the kernel does not read");
    // The zero is padding and belongs to what follows this member.
    if (size == 0) return Decoded{0, {}, true};
    if (size > largest_chunk) return corrupt("lz4 data is corrupt (a chunk over its size limit)");
    chunk_ = size;
    have_.reserve(size);
    return Decoded{size_field, {}, false};
  }

 private:
  static constexpr std::uint32_t magic = 0x184c2102;
  static constexpr std::size_t size_field = 4;
  static constexpr std::size_t chunk_output = 8u << 20;
  static constexpr std::size_t largest_chunk = LZ4_COMPRESSBOUND(chunk_output);

  static std::uint32_t read_size(Bytes input) {
    std::uint32_t size = 0;
    for (std::size_t i = size_field; i-- > 0;)
      size = size << 8 | std::to_integer<std::uint32_t>(input[i]);
    return size;
  }

  /// Fewer than four bytes are left: at the end of the image they are no chunk, and what they are
  /// is for whoever reads behind this member.
  Result<Decoded> short_of_a_size(bool last) const {
    if (last && !started_) return cut("lz4");
    return Decoded{0, {}, last};
  }

  Result<Decoded> take_chunk(Bytes input, bool last) {
    Bytes chunk = input.first(std::min(input.size(), *chunk_ - have_.size()));
    Decoded step{chunk.size(), {}, false};
    if (chunk.size() < *chunk_) {
      have_.insert(have_.end(), chunk.begin(), chunk.end());
      if (have_.size() < *chunk_ && last) return cut("lz4");
      if (have_.size() < *chunk_) return step;
      chunk = have_;
    }
    if (!output_) output_ = std::make_unique_for_overwrite<std::byte[]>(chunk_output);
    const int made = LZ4_decompress_safe(
        reinterpret_cast<const char*>(chunk.data()), reinterpret_cast<char*>(output_.get()),
        static_cast<int>(chunk.size()), static_cast<int>(chunk_output));
    if (made < 0) return corrupt("lz4 data is corrupt");
    have_.clear();
    chunk_.reset();
    step.output = Bytes(output_.get(), static_cast<std::size_t>(made));
    return step;
  }

  bool started_ = false;
  std::optional<std::size_t> chunk_;  // compressed size of the chunk that is being collected
  std::vector<std::byte> have_;
  std::unique_ptr<std::byte[]> output_;  // not set to zero: a small image takes little of it
};

template <class Made, class... Arguments>
Result<std::unique_ptr<Decoder>> made(Arguments... arguments) {
  auto decoder = std::make_unique<Made>(arguments...);
  if (!decoder->ready()) return fail(ErrorKind::too_large, "", "no memory for a decoder");
  return decoder;
}

}  // namespace

Compression detect_compression(Bytes start) {
  if (start.size() < 2) return Compression::none;
  const unsigned magic =
      std::to_integer<unsigned>(start[0]) << 8 | std::to_integer<unsigned>(start[1]);
  switch (magic) {
    case 0x1f8b:
    case 0x1f9e:
      return Compression::gzip;
    case 0x425a:
      return Compression::bzip2;
    case 0x5d00:
      return Compression::lzma;
    case 0xfd37:
      return Compression::xz;
    case 0x894c:
      return Compression::lzo;
    case 0x0221:
      return Compression::lz4_legacy;
    case 0x28b5:
      return Compression::zstd;
    default:
      return Compression::none;
  }
}

Result<std::unique_ptr<Decoder>> make_decoder(Compression compression, std::uint64_t memory) {
  switch (compression) {
    case Compression::gzip:
      return made<GzipDecoder>();
    case Compression::bzip2:
      return made<Bzip2Decoder>();
    case Compression::lzma:
    case Compression::xz:
      return made<LzmaDecoder>(compression, memory);
    case Compression::zstd:
      return made<ZstdDecoder>(memory);
    case Compression::lz4_legacy:
      return std::make_unique<Lz4LegacyDecoder>();
    case Compression::lzo:
    case Compression::none:
      break;
  }
  return fail(ErrorKind::unsupported, "",
              fmt::format("{} data, which this tool cannot unpack", to_string(compression)));
}

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "uncompressed";
    case Compression::gzip:
      return "gzip";
    case Compression::bzip2:
      return "bzip2";
    case Compression::lzma:
      return "lzma";
    case Compression::xz:
      return "xz";
    case Compression::zstd:
      return "zstd";
    case Compression::lz4_legacy:
      return "lz4";
    case Compression::lzo:
      return "lzo";
  }
  return "unknown";
}

}  // namespace preflight
