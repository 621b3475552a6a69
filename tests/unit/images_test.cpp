// SPDX-License-Identifier: MIT
// Images read from a guest's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "agent/facts/boot.h"
#include "tests/support/compress.h"
#include "tests/support/cpio_builder.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;
using test::CpioBuilder;

class GuestImages : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "images-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    fs::create_directories(base_ / "boot");
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(base_ / name, std::ios::binary) << bytes;
  }
  Result<Image> read(const std::vector<std::string>& paths) {
    return read_guest_image(Root::open(base_.string()).value(), paths);
  }

  fs::path base_;
};

TEST_F(GuestImages, FilesFollowEachOtherAtMultiplesOfFour) {
  std::string early = test::gzip(CpioBuilder().dir("etc").trailer().text());
  while (early.size() % 4 != 1) early += '\0';
  write("boot/early", early);
  write("boot/main", CpioBuilder().file("etc/machine-id", "0123").file("init").trailer().text());
  const Result<Image> image = read({"/boot/early", "/boot/main"});
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_FALSE(image->damage) << image->damage->message();
  EXPECT_EQ(image->segments.at(1).offset, (early.size() + 3) / 4 * 4);
  ASSERT_NE(image->content("etc/machine-id"), nullptr);
  EXPECT_EQ(*image->content("etc/machine-id"), "0123");
  EXPECT_FALSE(image->files.at("init").content);
}

TEST_F(GuestImages, OpenErrorsAreErrorsOfThatFile) {
  write("boot/main", "");
  ASSERT_EQ(::mkfifo((base_ / "boot/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(read({"/boot/main"}).value().segments.empty());
  EXPECT_EQ(read({"/boot/main", "/boot/gone"}).error().kind, ErrorKind::missing);
  EXPECT_EQ(read({"/boot/main", "/boot/gone"}).error().path, "/boot/gone");
  EXPECT_EQ(read({"/boot/fifo"}).error().kind, ErrorKind::wrong_type);
  ASSERT_EQ(::truncate((base_ / "boot/main").c_str(), off_t{3} << 30), 0);
  EXPECT_EQ(read({"/boot/main"}).error().kind, ErrorKind::too_large);
}

TEST_F(GuestImages, OneImageForEachListOfFiles) {
  write("boot/a", CpioBuilder().file("a").trailer().text());
  write("boot/b", "garbage");
  BootMenu menu;
  for (const std::vector<std::string>& initrds : std::vector<std::vector<std::string>>{
           {"/boot/a"}, {"/boot/a"}, {"/boot/b", "/boot/a"}, {"/boot/gone"}, {}}) {
    menu.entries.emplace_back();
    menu.entries.back().initrds = initrds;
  }
  Guest guest{.root = Root::open(base_.string()).value(), .path = base_.string(), .lsblk_file = {}};
  const Images images = collect_images(guest, menu);
  EXPECT_EQ(images.size(), 3u);
  EXPECT_TRUE(images.at("/boot/a")->files.contains("a"));
  EXPECT_EQ(images.at("/boot/b\n/boot/a")->damage->kind, ErrorKind::malformed);
  EXPECT_EQ(images.at("/boot/gone").error().kind, ErrorKind::missing);
  EXPECT_TRUE(collect_images(guest, fail(ErrorKind::missing, "", "no menu")).empty());
}

/// What collect_images finds for entries with these images, the first of them the default.
Images collect(const fs::path& base, const std::vector<std::string>& paths) {
  BootMenu menu;
  for (const std::string& path : paths) {
    BootEntry entry;
    entry.initrds = {path};
    menu.entries.push_back(entry);
  }
  menu.default_index = 0;
  const Guest guest{Root::open(base.string()).value(), base.string(), false, false, std::nullopt};
  return collect_images(guest, menu);
}

TEST_F(GuestImages, AllOfAMenuAreReadOnceEach) {
  std::vector<std::string> paths;
  for (int i = 0; i < 9; ++i) {
    const std::string name = "boot/image-" + std::to_string(i);
    write(name, CpioBuilder()
                    .dir("etc")
                    .file("etc/machine-id", name)
                    .file("init", std::string(1000u * static_cast<unsigned>(i), 'x'))
                    .trailer()
                    .text());
    paths.push_back('/' + name);
  }
  paths.push_back("/boot/gone");
  paths.push_back(paths.front());
  const Images images = collect(base_, paths);
  EXPECT_EQ(images.size(), 10u);
  EXPECT_EQ(images.at("/boot/gone").error().kind, ErrorKind::missing);
  for (int i = 0; i < 9; ++i) {
    const std::string name = "boot/image-" + std::to_string(i);
    ASSERT_NE(images.at('/' + name)->content("etc/machine-id"), nullptr);
    EXPECT_EQ(*images.at('/' + name)->content("etc/machine-id"), name);
  }
}

TEST_F(GuestImages, TheDefaultHasAllTheRoomThoughOthersAreRead) {
  // Twelve megabytes: more than a half of what may be kept, less than all of it.
  const std::string large = CpioBuilder()
                                .dir("lib")
                                .dir("lib/modules")
                                .dir("lib/modules/1")
                                .file("lib/modules/1/modules.dep", std::string(6u << 20, 'x'))
                                .file("lib/modules/1/modules.alias", std::string(6u << 20, 'y'))
                                .trailer()
                                .text();
  for (const char* name : {"boot/a", "boot/b", "boot/c"}) write(name, large);
  const Images images = collect(base_, {"/boot/b", "/boot/a", "/boot/c"});
  EXPECT_NE(images.at("/boot/b")->content("lib/modules/1/modules.dep"), nullptr);
  EXPECT_NE(images.at("/boot/b")->content("lib/modules/1/modules.alias"), nullptr);
  EXPECT_EQ(images.at("/boot/c")->content("lib/modules/1/modules.alias"), nullptr);
  EXPECT_FALSE(images.at("/boot/b")->damage);
}

}  // namespace
}  // namespace preflight
