// SPDX-License-Identifier: MIT
// Makes newc archives byte by byte, well formed and not, for the tests of the image reader.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace preflight::test {

struct CpioFile {
  std::string name;
  std::string data = {};
  std::uint32_t mode = S_IFREG | 0644;
  std::uint32_t nlink = 1;
  std::uint32_t ino = 0;
  std::optional<std::uint32_t> size = std::nullopt;       // in the header, when it is to lie
  std::optional<std::uint32_t> name_size = std::nullopt;  // the same
  std::string_view magic = "070701";
  std::uint32_t checksum = 0;
};

class CpioBuilder {
 public:
  CpioBuilder& add(const CpioFile& file) {
    text_ += fmt::format(
        "{}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}",
        file.magic, file.ino, file.mode, 0, 0, file.nlink, 0,
        file.size.value_or(static_cast<std::uint32_t>(file.data.size())), 8, 1, 0, 0,
        file.name_size.value_or(static_cast<std::uint32_t>(file.name.size() + 1)), file.checksum);
    text_ += file.name + '\0';
    pad(4);
    text_ += file.data;
    pad(4);
    return *this;
  }
  CpioBuilder& dir(const std::string& name) { return add({.name = name, .mode = S_IFDIR | 0755}); }
  CpioBuilder& file(const std::string& name, const std::string& data = "x") {
    return add({.name = name, .data = data});
  }
  CpioBuilder& link(const std::string& name, const std::string& target) {
    return add({.name = name, .data = target, .mode = S_IFLNK | 0777});
  }
  CpioBuilder& trailer() { return add({.name = "TRAILER!!!", .mode = 0}); }
  CpioBuilder& pad(std::size_t to) {
    while (text_.size() % to != 0) text_ += '\0';
    return *this;
  }
  CpioBuilder& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace preflight::test
