// SPDX-License-Identifier: MIT
#include "agent/formats/kernel_header.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

/// A setup header whose version text stands at `offset` + 0x200.
std::string image(const std::string& text, unsigned offset = 0x300, unsigned char sectors = 4) {
  std::string bytes(0x200 + offset, '\0');
  bytes[0x1f1] = static_cast<char>(sectors);
  bytes.replace(0x1fe, 2, "\x55\xaa");
  bytes.replace(0x202, 4, "HdrS");
  bytes[0x20e] = static_cast<char>(offset & 0xff);
  bytes[0x20f] = static_cast<char>(offset >> 8);
  return bytes + text;
}

std::string release(const std::string& bytes) {
  const auto found =
      kernel_release([&](std::uint64_t offset, std::size_t length) -> Result<std::string> {
        return offset < bytes.size() ? bytes.substr(static_cast<std::size_t>(offset), length) : "";
      });
  return found.value().value_or("none");
}

TEST(KernelHeader, ReadsTheRelease) {
  EXPECT_EQ(release(image("5.14.0-503.el9.x86_64 (mockbuild@x) #1 SMP")), "5.14.0-503.el9.x86_64");
  EXPECT_EQ(release(image(std::string("6.12.0+rt\0", 10))), "6.12.0+rt");
  EXPECT_EQ(release(image("4.18.0 ", 0x10, 0)), "4.18.0");
}

TEST(KernelHeader, OtherImagesHaveNone) {
  EXPECT_EQ(release(""), "none");
  EXPECT_EQ(release("fake kernel"), "none");
  EXPECT_EQ(release(std::string(4096, '\xff')), "none");
  std::string no_flag = image("5.14.0 x");
  no_flag[0x1fe] = 0;
  EXPECT_EQ(release(no_flag), "none");
}

TEST(KernelHeader, OddOffsetsAndTexts) {
  std::string no_text = image("5.14.0 x");
  no_text[0x20e] = no_text[0x20f] = 0;
  EXPECT_EQ(release(no_text), "none");
  EXPECT_EQ(release(image("5.14.0 x", 0x800)), "none");  // beyond the setup sectors
  EXPECT_EQ(release(image("")), "none");
  EXPECT_EQ(release(image("5.14.0")), "none");  // cut
  EXPECT_EQ(release(image(" 5.14.0 x")), "none");
  EXPECT_EQ(release(image("5.14/../../etc x")), "none");
  EXPECT_EQ(release(image(std::string(4096, 'a'))), "none");
}

TEST(KernelHeader, ErrorsAreTheReaders) {
  const auto found = kernel_release([](std::uint64_t, std::size_t) -> Result<std::string> {
    return fail(ErrorKind::io, "/boot/vmlinuz", "bad sector");
  });
  EXPECT_EQ(found.error().what, "bad sector");
}

}  // namespace
}  // namespace preflight
