// SPDX-License-Identifier: MIT
#include "agent/formats/cpio.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::size_t header_size = 110;

constexpr std::uint64_t align4(std::uint64_t position) {
  return (position + 3) & ~std::uint64_t{3};
}

/// The name as it lies in the archive: padded so that header and name end on four bytes.
constexpr std::size_t padded_name(std::size_t size) {
  return static_cast<std::size_t>(align4(header_size + size)) - header_size;
}

std::string_view as_text(const std::byte* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// The thirteen eight-digit numbers of a header; nullopt when one is not hexadecimal.
std::optional<std::array<std::uint32_t, 13>> parse_numbers(std::string_view text) {
  std::array<std::uint32_t, 13> numbers{};
  for (std::uint32_t& number : numbers) {
    const char* const end = text.data() + 8;
    const auto [stop, error] = std::from_chars(text.data(), end, number, 16);
    if (error != std::errc() || stop != end) return std::nullopt;
    text.remove_prefix(8);
  }
  return numbers;
}

}  // namespace

CpioReader::CpioReader(RamFs& fs, std::vector<ImageSegment>& segments, const ImageLimits& limits)
    : fs_(fs), segments_(segments), limits_(limits) {}

void CpioReader::enter(std::uint64_t offset, Compression compression) {
  member_ = offset;
  compression_ = compression;
  position_ = compression == Compression::none ? offset : 0;
  in_archive_ = false;
}

void CpioReader::begin_archive() {
  state_ = State::header;
}

std::size_t CpioReader::write(std::span<const std::byte> data) {
  const std::size_t given = data.size();
  while (!problem_ && step(data)) {
  }
  return given - data.size();
}

/// One state's work. False when it needs more data or stands before what is not its own.
bool CpioReader::step(std::span<const std::byte>& data) {
  switch (state_) {
    case State::header:
      return read_header(data);
    case State::name:
      return read_name(data);
    case State::data:
      return read_data(data);
    case State::skip:
      return skip(data);
    case State::between:
      return pass_padding(data);
  }
  return false;
}

void CpioReader::used(std::span<const std::byte>& data, std::size_t count) {
  data = data.subspan(count);
  position_ += count;
}

/// Points `whole` at `wanted` contiguous bytes: in place when they are all there, else once enough
/// of them were held.
bool CpioReader::collect(std::span<const std::byte>& data, std::size_t wanted,
                         const std::byte*& whole) {
  if (held_.empty() && data.size() >= wanted) {
    whole = data.data();
    used(data, wanted);
    return true;
  }
  const std::size_t count = std::min(wanted - held_.size(), data.size());
  held_.insert(held_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count));
  used(data, count);
  whole = held_.data();
  return held_.size() == wanted;
}

bool CpioReader::read_header(std::span<const std::byte>& data) {
  const std::byte* header = nullptr;
  if (!collect(data, header_size, header)) return false;
  take_header(header);
  held_.clear();
  return true;
}

/// do_header: where the next one is, and whether this entry is one that is looked at.
void CpioReader::take_header(const std::byte* header) {
  const std::string_view magic = as_text(header, 6);
  if (magic != "070701" && magic != "070702")
    return stop(ErrorKind::malformed,
                fmt::format("expected a cpio header (070701), found \"{}\"", printable(magic)));
  const auto numbers = parse_numbers(as_text(header + 6, header_size - 6));
  if (!numbers) return stop(ErrorKind::malformed, "a cpio header with a number that is none");
  entry_ = {};
  entry_.ino = (*numbers)[0];
  entry_.mode = (*numbers)[1];
  entry_.nlink = (*numbers)[4];
  entry_.size = (*numbers)[6];
  entry_.major = (*numbers)[7];
  entry_.minor = (*numbers)[8];
  name_size_ = (*numbers)[11];
  has_checksum_ = magic == "070702";
  checksum_ = (*numbers)[12];
  next_ = align4(position_ + padded_name(name_size_) + entry_.size);
  count_entry();
  entry_name_.clear();
  state_ = State::skip;
  if (name_size_ == 0 || name_size_ > PATH_MAX) return;
  if (S_ISLNK(entry_.mode) ? entry_.size > PATH_MAX : !S_ISREG(entry_.mode) && entry_.size > 0)
    return;
  text_size_ = padded_name(name_size_) + (S_ISLNK(entry_.mode) ? entry_.size : 0);
  state_ = State::name;
}

void CpioReader::count_entry() {
  if (++entries_ > limits_.entries)
    return stop(ErrorKind::too_large, fmt::format("over {} files", limits_.entries));
  if (!in_archive_) segments_.push_back({member_, compression_, 0});
  if (!in_archive_ && compression_ == Compression::none)
    segments_.back().offset = position_ - header_size;
  in_archive_ = true;
  ++segments_.back().entries;
}

bool CpioReader::read_name(std::span<const std::byte>& data) {
  const std::byte* text = nullptr;
  if (!collect(data, text_size_, text)) return false;
  take_name(as_text(text, text_size_).data());
  held_.clear();
  return true;
}

/// do_name and do_symlink.
void CpioReader::take_name(const char* text) {
  if (text[name_size_ - 1] != '\0')
    return stop(ErrorKind::malformed, "a cpio name that does not end with a NUL");
  state_ = State::skip;
  entry_name_.assign(text);
  if (S_ISLNK(entry_.mode)) {
    const char* const target = text + padded_name(name_size_);
    entry_.link_target = {target, ::strnlen(target, entry_.size)};
  } else if (entry_name_ == "TRAILER!!!") {
    --segments_.back().entries;
    in_archive_ = false;
    return fs_.forget_links();
  }
  entry_.name = entry_name_;
  const bool opened = fs_.create(entry_);
  if (!fs_.overrun().empty()) return stop(ErrorKind::too_large, fs_.overrun());
  if (!opened) return;
  data_left_ = entry_.size;
  sum_ = 0;
  state_ = State::data;
}

bool CpioReader::read_data(std::span<const std::byte>& data) {
  const auto part = data.first(std::min<std::uint64_t>(data_left_, data.size()));
  fs_.write(part);
  if (has_checksum_)
    sum_ = std::accumulate(part.begin(), part.end(), sum_, [](std::uint32_t sum, std::byte byte) {
      return sum + std::to_integer<std::uint32_t>(byte);
    });
  used(data, part.size());
  data_left_ -= part.size();
  if (data_left_ > 0) return false;
  finish_data();
  return true;
}

void CpioReader::finish_data() {
  fs_.close();
  state_ = State::skip;
  // A further name of a hard-linked file comes without its data, but may carry its checksum.
  if (has_checksum_ && entry_.size > 0 && sum_ != checksum_)
    stop(ErrorKind::malformed,
         fmt::format("the data of {} does not have its checksum", printable(entry_name_)));
}

bool CpioReader::skip(std::span<const std::byte>& data) {
  const std::uint64_t count = std::min<std::uint64_t>(next_ - position_, data.size());
  used(data, static_cast<std::size_t>(count));
  if (position_ < next_) return false;
  state_ = State::between;
  return true;
}

/// do_reset, and flush_buffer's look at the byte behind the padding.
bool CpioReader::pass_padding(std::span<const std::byte>& data) {
  const auto end =
      std::find_if(data.begin(), data.end(), [](std::byte b) { return b != std::byte{0}; });
  used(data, static_cast<std::size_t>(end - data.begin()));
  if (data.empty()) return false;
  if (position_ % 4 != 0) {
    stop(ErrorKind::malformed, "what follows the padding does not begin on a multiple of 4 bytes");
    return false;
  }
  if (data.front() != std::byte{'0'}) return false;
  state_ = State::header;
  return true;
}

void CpioReader::stop(ErrorKind kind, std::string what) {
  const std::string place =
      compression_ == Compression::none
          ? fmt::format("at byte {}", position_)
          : fmt::format("in the {} member at byte {}, {} bytes into what it unpacks to",
                        to_string(compression_), member_, position_);
  problem_ = Error{kind, {}, 0, fmt::format("{}: {}", place, what)};
}

std::string CpioReader::unfinished() const {
  switch (state_) {
    case State::header:
      return fmt::format("a cpio header ({} of {} bytes)", held_.size(), header_size);
    case State::name:
      return fmt::format("a file name ({} of {} bytes)", held_.size(), text_size_);
    case State::data:
      return fmt::format("the data of {} ({} of {} bytes)", printable(entry_name_),
                         entry_.size - data_left_, entry_.size);
    case State::skip:
      return fmt::format("what follows {} ({} bytes are missing)",
                         entry_name_.empty() ? "a skipped file" : printable(entry_name_),
                         next_ - position_);
    case State::between:
      break;
  }
  return "nothing";
}

void CpioReader::abandon() {
  if (state_ == State::data) fs_.abandon();
}

}  // namespace preflight
