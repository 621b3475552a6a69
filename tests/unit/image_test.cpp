// SPDX-License-Identifier: MIT
#include "agent/formats/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/compress.h"
#include "tests/support/cpio_builder.h"

namespace preflight {
namespace {

using test::CpioBuilder;
using testing::ElementsAre;
using testing::HasSubstr;

ByteSource source_of(const std::string& bytes, std::size_t most) {
  return [&bytes, most,
          at = std::size_t{0}](std::span<std::byte> into) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({into.size(), most, bytes.size() - at});
    std::memcpy(into.data(), bytes.data() + at, count);
    at += count;
    return count;
  };
}

bool keep_all(std::string_view) {
  return true;
}

Image read(const std::string& bytes, const ImageLimits& limits = {}, std::size_t most = 1u << 20) {
  return read_image("/boot/i.img", source_of(bytes, most), keep_all, limits).value();
}

std::vector<std::string> names(const Image& image) {
  std::vector<std::string> out;
  for (const auto& [name, file] : image.files) out.push_back(name);
  return out;
}

std::string microcode() {
  return CpioBuilder()
      .dir("kernel")
      .dir("kernel/x86")
      .dir("kernel/x86/microcode")
      .file("kernel/x86/microcode/GenuineIntel.bin", std::string(3000, 'm'))
      .trailer()
      .pad(512)
      .text();
}

std::string root_archive() {
  return CpioBuilder()
      .dir(".")
      .dir("usr")
      .dir("usr/lib")
      .link("lib", "usr/lib")
      .file("lib/os-release", "NAME=x\n")
      .file("usr/lib/big", std::string(700000, 'b'))
      .trailer()
      .pad(512)
      .text();
}

struct Packed {
  Compression compression;
  std::string bytes;
};

std::vector<Packed> packed(const std::string& text) {
  return {{Compression::none, text},
          {Compression::gzip, test::gzip(text)},
          {Compression::bzip2, test::bzip2(text)},
          {Compression::xz, test::xz(text)},
          {Compression::lzma, test::lzma(text)},
          {Compression::zstd, test::zstd(text)},
          {Compression::lz4_legacy, test::lz4_legacy(text)}};
}

TEST(Image, EveryCompressionBehindMicrocode) {
  for (const Packed& main : packed(root_archive())) {
    SCOPED_TRACE(to_string(main.compression));
    for (const std::size_t most : {std::size_t{1} << 20, std::size_t{7}}) {
      const Image image = read(microcode() + main.bytes, {.kept_text = 1u << 20}, most);
      EXPECT_FALSE(image.damage) << image.damage->message();
      ASSERT_EQ(image.segments.size(), 2u);
      EXPECT_EQ(image.segments[0].offset, 0u);
      EXPECT_EQ(image.segments[0].entries, 4u);
      EXPECT_EQ(image.segments[1].offset, microcode().size());
      EXPECT_EQ(image.segments[1].compression, main.compression);
      EXPECT_EQ(image.segments[1].entries, 6u);
      EXPECT_EQ(image.files.at("usr/lib/big").content, std::string(700000, 'b'));
      ASSERT_NE(image.content("/lib/os-release"), nullptr);
      EXPECT_EQ(*image.content("lib/os-release"), "NAME=x\n");
    }
  }
}

TEST(Image, SeveralMembersInARow) {
  const std::string a = CpioBuilder().file("a").trailer().text();
  const std::string b = CpioBuilder().file("b").text();
  const std::string image = test::gzip(a) + test::gzip(b) + test::xz(a) + std::string(5, '\0') +
                            test::zstd(b) + std::string(3, '\0') + test::bzip2(b);
  const Image read_back = read(image);
  EXPECT_FALSE(read_back.damage) << read_back.damage->message();
  EXPECT_THAT(names(read_back), ElementsAre("a", "b"));
  EXPECT_EQ(read_back.segments.size(), 5u);
}

TEST(Image, SeveralArchivesInOneMember) {
  const std::string two = CpioBuilder().file("a").trailer().pad(512).file("b").trailer().text();
  for (const Packed& one : packed(two)) {
    const Image image = read(one.bytes);
    EXPECT_FALSE(image.damage) << image.damage->message();
    EXPECT_THAT(names(image), ElementsAre("a", "b"));
    EXPECT_EQ(image.segments.size(), 2u);
  }
}

TEST(Image, Lz4EndsAtZeroPadding) {
  const std::string a = CpioBuilder().file("a").trailer().text();
  const std::string b = CpioBuilder().file("b").trailer().text();
  std::string image = test::lz4_legacy(a) + std::string(4, '\0');
  image += std::string((4 - image.size() % 4) % 4, '\0') + b;
  const Image with_zeros = read(image);
  EXPECT_FALSE(with_zeros.damage) << with_zeros.damage->message();
  EXPECT_THAT(names(with_zeros), ElementsAre("a", "b"));
  EXPECT_FALSE(read(test::lz4_legacy(a) + std::string(3, '\0')).damage);
  // A size is what stands behind a chunk: an archive there is taken for one.
  EXPECT_EQ(read(test::lz4_legacy(a) + b).damage->kind, ErrorKind::malformed);
}

TEST(Image, LargeLz4HasSeveralChunks) {
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 9 << 20; ++i)
    noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string text = CpioBuilder().file("noise", noise).file("end").trailer().text();
  const Image image =
      read(test::lz4_legacy(text), {.kept_text = 16u << 20, .kept_total = 24u << 20});
  EXPECT_FALSE(image.damage) << image.damage->message();
  EXPECT_EQ(image.files.at("noise").content, noise);
  EXPECT_TRUE(image.files.contains("end"));
}

TEST(Image, EmptyAndZeroFilesHaveNoSegments) {
  EXPECT_TRUE(read("").segments.empty());
  EXPECT_FALSE(read("").damage);
  const Image zeros = read(std::string(300000, '\0'));
  EXPECT_TRUE(zeros.segments.empty());
  EXPECT_FALSE(zeros.damage);
}

TEST(Image, WhatTheKernelDoesNotKnowIsMalformed) {
  for (const std::string& start :
       {std::string("\x04\x22\x4d\x18 lz4 frame"), std::string("garbage"), std::string("\x1f"),
        std::string("\x1f\x9e\x08 old gzip....."), std::string("MZ")}) {
    const Image image = read(microcode() + start);
    ASSERT_TRUE(image.damage) << start;
    EXPECT_EQ(image.damage->kind, ErrorKind::malformed);
    EXPECT_EQ(image.damage->path, "/boot/i.img");
    EXPECT_THAT(image.damage->what, HasSubstr(std::to_string(microcode().size())));
    EXPECT_FALSE(image.may_hold_more());
    EXPECT_EQ(image.files.size(), 4u);
  }
  EXPECT_THAT(read("\x04\x22\x4d\x18....").damage->what, HasSubstr("lz4 -l"));
}

TEST(Image, LzoIsUnsupportedNotAbsent) {
  const Image image = read(microcode() + std::string("\x89LZO\0\r\n\x1a\n", 9));
  ASSERT_TRUE(image.damage);
  EXPECT_EQ(image.damage->kind, ErrorKind::unsupported);
  EXPECT_TRUE(image.may_hold_more());
  EXPECT_EQ(image.segments.back().compression, Compression::lzo);
}

TEST(Image, XzNeedsACheckTheKernelHas) {
  const std::string text = root_archive();
  EXPECT_FALSE(read(test::xz(text, LZMA_CHECK_NONE)).damage);
  const Image crc64 = read(test::xz(text, LZMA_CHECK_CRC64));
  ASSERT_TRUE(crc64.damage);
  EXPECT_EQ(crc64.damage->kind, ErrorKind::malformed);
  EXPECT_THAT(crc64.damage->what, HasSubstr("CRC64"));
  EXPECT_TRUE(crc64.files.empty());
}

TEST(Image, GzipHeaderAsTheKernelReadsIt) {
  std::string bytes = test::gzip(root_archive());
  bytes[3] = 8;  // a file name
  bytes.insert(10, std::string("root.cpio\0", 10));
  EXPECT_FALSE(read(bytes).damage);
  bytes[3] = 4;  // extra fields
  EXPECT_EQ(read(bytes).damage->kind, ErrorKind::malformed);
}

TEST(Image, CutAnywhereIsDamage) {
  for (const Packed& whole : packed(root_archive())) {
    SCOPED_TRACE(to_string(whole.compression));
    for (const std::size_t size : {whole.bytes.size() / 2, whole.bytes.size() / 3, std::size_t{60},
                                   std::size_t{20}, std::size_t{3}}) {
      const Image image = read(whole.bytes.substr(0, size));
      ASSERT_TRUE(image.damage) << size;
      EXPECT_EQ(image.damage->kind, ErrorKind::malformed);
      EXPECT_FALSE(image.files.contains("usr/lib/big")) << size;
    }
  }
  EXPECT_THAT(read(root_archive().substr(0, 5000)).damage->what,
              HasSubstr("ends at byte 5000, inside the data of usr/lib/big"));
}

TEST(Image, MissingPaddingAtTheVeryEndIsNoDamage) {
  std::string text = CpioBuilder().file("a", "xyz").text();
  text.pop_back();
  EXPECT_FALSE(read(text).damage);
  // Behind a decompressor the kernel wants its state machine at rest.
  EXPECT_TRUE(read(test::gzip(text)).damage);
}

TEST(Image, AMemberEndsWithAnEntry) {
  const std::string text = root_archive();
  const Image split = read(test::gzip(text.substr(0, 1000)) + test::gzip(text.substr(1000)));
  ASSERT_TRUE(split.damage);
  EXPECT_THAT(split.damage->what, HasSubstr("gzip member at byte 0: it ends inside"));
  EXPECT_EQ(read(test::gzip("")).damage->kind, ErrorKind::malformed);
}

TEST(Image, JunkBehindTheEndKeepsTheFiles) {
  for (const Packed& one : packed(root_archive())) {
    if (one.compression == Compression::none) continue;
    const Image image = read(one.bytes + "junk");
    ASSERT_TRUE(image.damage) << to_string(one.compression);
    EXPECT_EQ(image.damage->kind, ErrorKind::malformed);
    EXPECT_TRUE(image.files.contains("usr/lib/big"));
  }
  const Image inside = read(test::zstd(root_archive() + "junk"));
  ASSERT_TRUE(inside.damage);
  EXPECT_THAT(inside.damage->what, HasSubstr("neither padding nor a cpio header"));
  EXPECT_TRUE(inside.files.contains("usr/lib/big"));
}

TEST(Image, FlippedBitsAreDamageAndNeverMore) {
  for (const Packed& whole : packed(root_archive()))
    for (std::size_t at = 0; at < std::min<std::size_t>(whole.bytes.size(), 400); at += 7) {
      std::string bytes = whole.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
      const Image image = read(bytes, {.unpacked_bytes = 4u << 20});
      EXPECT_LE(image.files.size(), 8u);
    }
}

TEST(Image, BombsStopAtTheLimit) {
  const std::string text =
      CpioBuilder().file("zeros", std::string(12u << 20, '\0')).trailer().text();
  for (const std::string& bytes : {test::gzip(text), test::zstd(text), test::xz(text)}) {
    const Image image = read(bytes, {.unpacked_bytes = 2u << 20});
    ASSERT_TRUE(image.damage);
    EXPECT_EQ(image.damage->kind, ErrorKind::too_large);
    EXPECT_TRUE(image.may_hold_more());
  }
}

TEST(Image, OnlyIndexesOfModulesMayBeLarge) {
  const std::string large(300u << 10, 'x');
  const Image image = read(CpioBuilder()
                               .dir("etc")
                               .file("etc/cmdline", large)
                               .file("etc/small", "x")
                               .file("etc/modules.dep", large)
                               .trailer()
                               .text());
  EXPECT_EQ(image.content("etc/cmdline"), nullptr);
  EXPECT_NE(image.content("etc/small"), nullptr);
  EXPECT_NE(image.content("etc/modules.dep"), nullptr);
}

TEST(Image, EachImageLeavesLessForTheNext) {
  Image taken;
  taken.files["a"] = {.mode = S_IFREG, .content = std::string(20u << 20, 'x')};
  EXPECT_GT(memory_of(taken), 20u << 20);
  const ImageLimits alone = limits_beside(0), second = limits_beside(memory_of(taken));
  EXPECT_EQ(alone.kept_total, ImageLimits{}.kept_total);
  EXPECT_EQ(alone.decoder_memory, ImageLimits{}.decoder_memory);
  EXPECT_LT(second.kept_total, alone.kept_total);
  EXPECT_GE(second.decoder_memory, 64u << 20);
  EXPECT_EQ(limits_beside(std::uint64_t{1} << 40).entries, 0u);
  EXPECT_GE(limits_beside(std::uint64_t{1} << 40).decoder_memory, 48u << 20);
}

TEST(Image, DecoderMemoryIsLimited) {
  const std::string text = root_archive();
  const ImageLimits small{.decoder_memory = 4u << 20};
  EXPECT_EQ(read(test::zstd(text, 27), small).damage->kind, ErrorKind::too_large);
  EXPECT_EQ(read(test::lzma(text, 64u << 20), small).damage->kind, ErrorKind::too_large);
  EXPECT_FALSE(read(test::zstd(text, 26)).damage);
  EXPECT_FALSE(read(test::lzma(text, 64u << 20)).damage);
}

TEST(Image, SourceErrorsAreErrors) {
  const ByteSource broken = [](std::span<std::byte>) -> Result<std::size_t> {
    return fail(ErrorKind::io, "/boot/i.img", "cannot read");
  };
  EXPECT_EQ(read_image("/boot/i.img", broken, keep_all).error().kind, ErrorKind::io);
}

TEST(Image, SquashedImagesAreOpaque) {
  const Image image = read(CpioBuilder().file("squashfs-root.img", "hsqs").trailer().text());
  EXPECT_THAT(image.opaque_parts, ElementsAre("squashfs-root.img"));
  EXPECT_TRUE(image.may_hold_more());
}

TEST(Image, FindFollowsLinksInside) {
  const Image image = read(CpioBuilder()
                               .dir("a")
                               .dir("a/b")
                               .file("a/b/f", "here")
                               .link("abs", "/a/b")
                               .link("a/up", "../a/b/../b/f")
                               .link("loop", "loop")
                               .link("out", "../../../a/b/f")
                               .link("gone", "nowhere/f")
                               .trailer()
                               .text());
  EXPECT_EQ(*image.content("/abs/f"), "here");
  EXPECT_EQ(*image.content("a/up"), "here");
  EXPECT_EQ(*image.content("out"), "here");
  EXPECT_EQ(image.resolve("abs/../b/f"), "a/b/f");
  EXPECT_EQ(image.find("loop"), nullptr);
  EXPECT_EQ(image.find("gone"), nullptr);
  EXPECT_EQ(image.find("a/b/f/x"), nullptr);
  EXPECT_EQ(image.find("a/missing/../b/f"), nullptr);
  EXPECT_THAT(image.list("/abs"), ElementsAre("f"));
  EXPECT_THAT(image.list("a"), ElementsAre("b", "up"));
  EXPECT_THAT(image.list("/"), ElementsAre("a", "abs", "gone", "loop", "out"));
  EXPECT_TRUE(image.list("nowhere").empty());
}

TEST(Image, ListSkipsWhatLiesDeeper) {
  Image image;
  image.files["d/a"] = {};
  image.files["d/a-b"] = {};
  image.files["d/a/x/y"] = {};
  image.files["d/a0"] = {};
  EXPECT_THAT(image.list("d"), ElementsAre("a", "a-b", "a0"));
  EXPECT_NE(image.find("d/a0"), nullptr);
}

TEST(Image, WantedContents) {
  for (const char* name :
       {"usr/lib/modules/5.14/modules.dep", "lib/modules/5.14/modules.alias.bin",
        "etc/modprobe.d/a.conf", "usr/local/lib/modprobe.d/b.conf", "etc/lvm/lvm.conf",
        "etc/lvm/devices/system.devices", "etc/cmdline", "etc/crypttab", "etc/fstab",
        "etc/cmdline.d/20-lvm.conf", "usr/lib/dracut/build-parameter.txt",
        "usr/lib/dracut/modules.txt", "var/lib/dracut/hooks/initqueue/finished/x.sh",
        "usr/lib/initrd-release", "etc/machine-id", "etc/multipath.conf"})
    EXPECT_TRUE(is_wanted_content(name)) << name;
  for (const char* name :
       {"usr/lib/modules/5.14/kernel/nvme.ko", "usr/lib/modules/modules.dep", "etc/modprobe.d/a",
        "etc/modprobe.d.conf", "usr/lib/modules/5.14/x/modules.dep", "etc/lvmx", "etc/passwd", ""})
    EXPECT_FALSE(is_wanted_content(name)) << name;
}

}  // namespace
}  // namespace preflight
