// SPDX-License-Identifier: MIT
#include "agent/formats/kernel_header.h"

#include <algorithm>
#include <string_view>

namespace preflight {

namespace {

constexpr std::size_t setup_sects_at = 0x1f1;
constexpr std::size_t boot_flag_at = 0x1fe;
constexpr std::size_t magic_at = 0x202;
constexpr std::size_t kernel_version_at = 0x20e;
constexpr std::size_t header_size = 0x210;
// uname(2)'s release has 65 bytes with its terminator.
constexpr std::size_t release_cap = 65;

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

unsigned word_at(std::string_view bytes, std::size_t at) {
  return byte_at(bytes, at) | byte_at(bytes, at + 1) << 8;
}

bool belongs_to_release(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("._+~-").find(c) != std::string_view::npos;
}

/// Where the text begins; 0 when the header has none. boot.rst: a value that is not below
/// 0x200 * setup_sects is not valid, and setup_sects 0 stands for 4.
std::uint64_t text_offset(std::string_view header) {
  if (header.size() < header_size || word_at(header, boot_flag_at) != 0xaa55 ||
      header.substr(magic_at, 4) != "HdrS")
    return 0;
  const unsigned sectors = byte_at(header, setup_sects_at);
  const unsigned offset = word_at(header, kernel_version_at);
  if (offset == 0 || offset >= 0x200 * (sectors == 0 ? 4 : sectors)) return 0;
  return std::uint64_t{offset} + 0x200;
}

}  // namespace

Result<std::optional<std::string>> kernel_release(const ReadAt& read) {
  const Result<std::string> header = read(0, header_size);
  if (!header) return tl::unexpected(header.error());
  const std::uint64_t offset = text_offset(*header);
  if (offset == 0) return std::nullopt;
  Result<std::string> text = read(offset, release_cap);
  if (!text) return tl::unexpected(text.error());
  const auto end = std::find_if_not(text->begin(), text->end(), belongs_to_release);
  if (end == text->begin() || end == text->end() || (*end != ' ' && *end != '\0'))
    return std::nullopt;
  return std::string(text->begin(), end);
}

}  // namespace preflight
