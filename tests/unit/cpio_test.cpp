// SPDX-License-Identifier: MIT
// How entries of an archive become files: the kernel's rules, and what hostile archives try.
#include "agent/formats/cpio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/cpio_builder.h"

namespace preflight {
namespace {

using test::CpioBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Unpacked {
  std::map<std::string, ImageFile, std::less<>> files;
  std::vector<ImageSegment> segments;
  std::optional<Error> problem;
  std::size_t used = 0;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, file] : files) out.push_back(name);
    return out;
  }
  std::string content(const std::string& name) const {
    return files.at(name).content.value_or("-");
  }
};

/// Reads an archive in pieces of that many bytes.
Unpacked unpack(
    const std::string& text, std::size_t piece = 1u << 20, const ImageLimits& limits = {},
    const KeepContent& keep = [](std::string_view) { return true; }) {
  Unpacked result;
  RamFs fs(keep, limits);
  CpioReader reader(fs, result.segments, limits);
  reader.enter(0, Compression::none);
  const auto bytes = std::as_bytes(std::span(text));
  while (result.used < bytes.size()) {
    const auto part = bytes.subspan(result.used, std::min(piece, bytes.size() - result.used));
    const std::size_t used = reader.write(part);
    result.used += used;
    if (used < part.size()) break;
  }
  result.problem = reader.problem();
  result.files = fs.take();
  return result;
}

TEST(Cpio, PiecesOfAnySize) {
  const std::string text = CpioBuilder()
                               .dir("d")
                               .file("d/one", "1")
                               .file("d/five", "12345")
                               .link("d/l", "one")
                               .file("d/empty", "")
                               .trailer()
                               .pad(512)
                               .text();
  for (const std::size_t piece : {1u, 2u, 3u, 5u, 109u, 110u, 111u, 4096u}) {
    const Unpacked got = unpack(text, piece);
    EXPECT_FALSE(got.problem);
    EXPECT_EQ(got.used, text.size());
    EXPECT_THAT(got.names(), ElementsAre("d", "d/empty", "d/five", "d/l", "d/one"));
    EXPECT_EQ(got.content("d/five"), "12345");
    EXPECT_EQ(got.files.at("d/l").link_target, "one");
    ASSERT_EQ(got.segments.size(), 1u);
    EXPECT_EQ(got.segments[0].entries, 5u);
  }
}

TEST(Cpio, StopsBeforeWhatIsNotItsOwn) {
  const std::string text = CpioBuilder().file("a").trailer().text();
  const Unpacked got = unpack(text + std::string(4, '\0') + "\x1f\x8b");
  EXPECT_FALSE(got.problem);
  EXPECT_EQ(got.used, text.size() + 4);
  EXPECT_THAT(unpack(text + '\0' + "x").problem->what, HasSubstr("multiple of 4"));
}

TEST(Cpio, HeadersThatAreNone) {
  EXPECT_THAT(unpack(CpioBuilder().add({.name = "a", .magic = "070707"}).text()).problem->what,
              HasSubstr("found \"070707\""));
  std::string text = CpioBuilder().file("a").text();
  text[20] = 'x';
  EXPECT_EQ(unpack(text).problem->kind, ErrorKind::malformed);
  text[20] = '-';
  EXPECT_EQ(unpack(text).problem->kind, ErrorKind::malformed);
}

TEST(Cpio, ParentsAreFollowedAndMissingOnesDropTheFile) {
  const Unpacked got = unpack(CpioBuilder()
                                  .dir("usr")
                                  .dir("usr/lib")
                                  .link("lib", "usr/lib")
                                  .file("lib/a")
                                  .file("nowhere/b")
                                  .file("usr/lib/a/c")
                                  .dir("no/dir")
                                  .link("none/l", "x")
                                  .file("dev/in-kernel")
                                  .trailer()
                                  .text());
  EXPECT_THAT(got.names(), ElementsAre("dev/in-kernel", "lib", "usr", "usr/lib", "usr/lib/a"));
}

TEST(Cpio, NamesAreNormalised) {
  const Unpacked got = unpack(CpioBuilder()
                                  .dir(".")
                                  .dir("./d")
                                  .file("/d/absolute")
                                  .file("../../d/up")
                                  .file("d//./x/../y")
                                  .dir("d/sub/")
                                  .file("d/sub/../z")
                                  .file("d/..")
                                  .file("")
                                  .file("d/" + std::string(256, 'n'))
                                  .trailer()
                                  .text());
  EXPECT_THAT(got.names(), ElementsAre("d", "d/absolute", "d/sub", "d/up", "d/z"));
}

TEST(Cpio, LaterEntriesReplaceEarlierOnes) {
  const Unpacked got = unpack(CpioBuilder()
                                  .file("f", "old and long")
                                  .file("f", "new")
                                  .dir("dir")
                                  .file("dir/x")
                                  .file("dir", "not over a full directory")
                                  .dir("empty")
                                  .file("empty", "over an empty one")
                                  .link("l", "f")
                                  .file("l", "no longer a link")
                                  .file("g", "file")
                                  .dir("g")
                                  .file("h", "file")
                                  .link("h", "f")
                                  .link("dir", "f")
                                  .trailer()
                                  .text());
  EXPECT_EQ(got.content("f"), "new");
  EXPECT_EQ(got.files.at("f").size, 3u);
  EXPECT_TRUE(S_ISDIR(got.files.at("dir").mode));
  EXPECT_EQ(got.content("empty"), "over an empty one");
  EXPECT_EQ(got.content("l"), "no longer a link");
  EXPECT_TRUE(S_ISDIR(got.files.at("g").mode));
  EXPECT_TRUE(S_ISLNK(got.files.at("h").mode));
}

TEST(Cpio, ADirectoryReplacesALinkOfItsName) {
  const CpioBuilder base = CpioBuilder().dir("usr").dir("usr/lib").link("lib", "usr/lib");
  EXPECT_TRUE(unpack(CpioBuilder(base).dir("lib").file("lib/a").text()).files.contains("lib/a"));
  // mkdir("lib/") goes through the link.
  EXPECT_TRUE(
      unpack(CpioBuilder(base).dir("lib/").file("lib/a").text()).files.contains("usr/lib/a"));
}

TEST(Cpio, HardLinksShareTheirData) {
  // GNU cpio gives the data with the last name, others with the first or with each.
  for (const int with_data : {0, 1, 2, 3}) {
    CpioBuilder builder;
    for (int i = 0; i < 3; ++i)
      builder.add({.name = fmt::format("f{}", i),
                   .data = with_data == i || with_data == 3 ? "shared" : "",
                   .nlink = 3,
                   .ino = 7});
    const Unpacked got = unpack(builder.trailer().text());
    for (const char* name : {"f0", "f1", "f2"}) {
      EXPECT_EQ(got.content(name), "shared") << with_data;
      EXPECT_EQ(got.files.at(name).size, 6u);
    }
  }
}

TEST(Cpio, OnlyAskedNamesOfALinkedFileGetItsContent) {
  CpioBuilder builder;
  builder.add({.name = "first", .data = "shared", .nlink = 2, .ino = 7});
  builder.add({.name = "wanted", .nlink = 2, .ino = 7});
  const Unpacked got = unpack(builder.trailer().text(), 1u << 20, {},
                              [](std::string_view name) { return name == "wanted"; });
  EXPECT_EQ(got.content("wanted"), "shared");
  EXPECT_EQ(got.content("first"), "-");
}

TEST(Cpio, TrailersEndTheLinks) {
  CpioBuilder builder;
  builder.add({.name = "a", .data = "one", .nlink = 2, .ino = 7}).trailer();
  builder.add({.name = "b", .data = "", .nlink = 2, .ino = 7}).trailer();
  const Unpacked got = unpack(builder.text());
  EXPECT_EQ(got.content("b"), "");
  EXPECT_EQ(got.segments.size(), 2u);
}

TEST(Cpio, HardLinkOddities) {
  CpioBuilder builder;
  builder.add({.name = "none/a", .data = "lost", .nlink = 2, .ino = 1});
  builder.add(
      {.name = "b", .data = "lost too", .nlink = 2, .ino = 1});  // links to what is not there
  builder.add({.name = "c", .data = "c", .nlink = 2, .ino = 2});
  builder.add({.name = "c", .data = "c", .nlink = 2, .ino = 2});  // removes itself before linking
  builder.add({.name = "d", .data = "d", .nlink = 2, .ino = 3});
  builder.add({.name = "e", .data = "", .nlink = 2, .ino = 3});
  builder.trailer().file("e", "written through");
  const Unpacked got = unpack(builder.text());
  EXPECT_THAT(got.names(), ElementsAre("d", "e"));
  EXPECT_EQ(got.content("d"), "written through");
}

TEST(Cpio, ChecksumsAreChecked) {
  const auto with = [](std::uint32_t checksum) {
    return unpack(CpioBuilder()
                      .add({.name = "a", .data = "abc", .magic = "070702", .checksum = checksum})
                      .trailer()
                      .text());
  };
  EXPECT_FALSE(with('a' + 'b' + 'c').problem);
  EXPECT_THAT(with(1).problem->what, HasSubstr("checksum"));
}

TEST(Cpio, SkipsWhatTheKernelSkips) {
  const Unpacked got = unpack(CpioBuilder()
                                  .file(std::string(4096, 'n'))  // with its NUL over PATH_MAX
                                  .link("long", std::string(4097, 't'))
                                  .link("void", "")
                                  .add({.name = "dir", .data = "data", .mode = S_IFDIR | 0755})
                                  .add({.name = "odd", .mode = 0})
                                  .add({.name = "pipe", .mode = S_IFIFO | 0600})
                                  .file("last")
                                  .trailer()
                                  .text());
  EXPECT_FALSE(got.problem);
  EXPECT_THAT(got.names(), ElementsAre("last", "pipe"));
}

TEST(Cpio, NamesNeedTheirNul) {
  std::string text = CpioBuilder().add({.name = "abc", .name_size = 3}).text();
  EXPECT_THAT(unpack(text).problem->what, HasSubstr("NUL"));
  EXPECT_EQ(unpack(CpioBuilder().file(std::string("ab\0cd", 5)).trailer().text()).names(),
            std::vector<std::string>{"ab"});
}

TEST(Cpio, SizesNearFourGigabytesOnlySkip) {
  for (const std::uint32_t mode : {S_IFREG | 0644u, S_IFLNK | 0777u, S_IFDIR | 0755u}) {
    const Unpacked got = unpack(
        CpioBuilder().add({.name = "huge", .data = "x", .mode = mode, .size = 0xffffffff}).text());
    EXPECT_FALSE(got.problem);
    EXPECT_TRUE(got.files.empty() || !got.files.at("huge").content);
  }
  const Unpacked name = unpack(CpioBuilder().add({.name = "n", .name_size = 0xffffffff}).text());
  EXPECT_FALSE(name.problem);
  EXPECT_THAT(name.names(), IsEmpty());
}

TEST(Cpio, LimitsEndInTooLarge) {
  CpioBuilder builder;
  for (int i = 0; i < 100; ++i) builder.file(fmt::format("file-{}", i));
  EXPECT_EQ(unpack(builder.text(), 1u << 20, {.entries = 99}).problem->kind, ErrorKind::too_large);
  EXPECT_EQ(unpack(builder.text(), 1u << 20, {.name_bytes = 500}).problem->kind,
            ErrorKind::too_large);
}

TEST(Cpio, ContentsOverTheirCapAreListedOnly) {
  const std::string text = CpioBuilder().file("a", "12345").file("b", "123").file("c", "12").text();
  const Unpacked each = unpack(text, 1u << 20, {.kept_text = 4});
  EXPECT_EQ(each.content("a"), "-");
  EXPECT_EQ(each.files.at("a").size, 5u);
  EXPECT_EQ(each.content("b"), "123");
  const Unpacked all = unpack(text, 1u << 20, {.kept_total = 7});
  EXPECT_EQ(all.content("b"), "-");
  EXPECT_EQ(all.content("c"), "12");
}

/// Names that lead through long chains of links, and directories that get ever deeper through them.
TEST(Cpio, LinkMazesCostLittle) {
  CpioBuilder maze;
  std::string deep;
  for (int i = 0; i < 1000; ++i) {
    deep += deep.empty() ? "d" : "/d";
    maze.dir(deep);
  }
  for (int i = 0; i < 40; ++i)
    maze.link(fmt::format("l{}", i),
              i == 0
                  ? deep
                  : fmt::format("l{}/{}", i - 1, std::string(2000, '.').replace(1, 1999, "/../d")));
  for (int i = 0; i < 20000; ++i) maze.file(fmt::format("l{}/f{}", i % 40, i), "");
  const auto start = std::chrono::steady_clock::now();
  unpack(maze.text());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));

  CpioBuilder nested;
  nested.dir("p").link("here", "p");
  for (int i = 0; i < 3000; ++i)
    nested.dir("here/" + std::string(200, 'x'))
        .link("here", "here2")
        .link(fmt::format("n{}", i), "here");
  EXPECT_FALSE(unpack(nested.text()).problem);
}

}  // namespace
}  // namespace preflight
