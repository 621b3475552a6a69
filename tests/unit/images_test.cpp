// SPDX-License-Identifier: MIT
// Images read from a guest's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace preflight
