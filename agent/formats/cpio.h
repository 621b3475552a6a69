// SPDX-License-Identifier: MIT
// The cpio archives (newc, with and without checksums) of an initramfs as a stream, by the rules of
// the kernel's own reader (init/initramfs.c): what it skips is skipped, where it stops this stops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/formats/image.h"
#include "agent/formats/ramfs.h"
#include "agent/result.h"

namespace preflight {

class CpioReader {
 public:
  CpioReader(RamFs& fs, std::vector<ImageSegment>& segments, const ImageLimits& limits);

  /// What is written next comes from a member at this offset of the image. Positions inside a
  /// compressed member count from its own start, all others from the start of the image.
  void enter(std::uint64_t offset, Compression compression);

  /// The next archive begins with the next byte.
  void begin_archive();

  /// Reads on; returns how many bytes were used. Fewer than given: the rest begins with a byte that
  /// is no padding and stands between two entries, or there is a problem.
  std::size_t write(std::span<const std::byte> data);

  /// True when nothing is begun: an archive may end here.
  bool between_entries() const { return state_ == State::between; }

  /// True when the last entry is whole but for the padding behind it, which the kernel does not
  /// miss at the end of an uncompressed archive.
  bool lacks_padding_only() const { return state_ == State::skip && next_ - position_ < 4; }

  /// Where it is, counted as enter() says.
  std::uint64_t position() const { return position_; }

  /// Why it cannot go on: malformed (the kernel stops there too) or too_large.
  const std::optional<Error>& problem() const { return problem_; }

  /// What was being read, for one who knows that nothing more comes: "the data of usr/bin/sh
  /// (12 of 40 bytes)".
  std::string unfinished() const;

  /// Gives up the entry that is being read.
  void abandon();

 private:
  enum class State { header, name, data, skip, between };

  bool step(std::span<const std::byte>& data);
  bool collect(std::span<const std::byte>& data, std::size_t wanted, const std::byte*& whole);
  bool read_header(std::span<const std::byte>& data);
  void take_header(const std::byte* header);
  bool read_name(std::span<const std::byte>& data);
  void take_name(const char* text);
  bool read_data(std::span<const std::byte>& data);
  void finish_data();
  bool skip(std::span<const std::byte>& data);
  bool pass_padding(std::span<const std::byte>& data);
  void used(std::span<const std::byte>& data, std::size_t count);
  void stop(ErrorKind kind, std::string what);
  void count_entry();

  RamFs& fs_;
  std::vector<ImageSegment>& segments_;
  const ImageLimits& limits_;
  std::optional<Error> problem_;

  State state_ = State::header;
  std::uint64_t member_ = 0;  // offset in the image of what is being read
  Compression compression_ = Compression::none;
  std::uint64_t position_ = 0;  // the kernel's this_header
  std::uint64_t entries_ = 0;
  bool in_archive_ = false;

  std::vector<std::byte> held_;  // a header or name that came in pieces
  CpioEntry entry_;              // of the header last read; its texts are only set for create()
  std::string entry_name_;
  std::size_t name_size_ = 0;  // as the header has it, with the NUL
  std::size_t text_size_ = 0;  // name with padding, and a link's target
  std::uint64_t next_ = 0;     // position of the next header
  std::uint64_t data_left_ = 0;
  bool has_checksum_ = false;
  std::uint32_t checksum_ = 0, sum_ = 0;
};

}  // namespace preflight
