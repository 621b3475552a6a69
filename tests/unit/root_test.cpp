// SPDX-License-Identifier: MIT
#include "agent/guest/root.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace preflight {
namespace {

namespace fs = std::filesystem;

class RootTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "root-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    fs::create_directories(base_ / "guest/etc/lvm");
    write(base_ / "outside", "secret");
    write(base_ / "guest/etc/lvm/lvm.conf", "inside");
  }
  void TearDown() override { fs::remove_all(base_); }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  void link(const std::string& target, const std::string& at) {
    fs::create_symlink(target, base_ / "guest" / at);
  }
  Root root() { return Root::open((base_ / "guest").string()).value(); }

  fs::path base_;
};

TEST_F(RootTest, ReadsARegularFile) {
  EXPECT_EQ(root().read("/etc/lvm/lvm.conf").value(), "inside");
}

TEST_F(RootTest, DotDotStopsAtTheRoot) {
  EXPECT_EQ(root().read("/../../../etc/lvm/lvm.conf").value(), "inside");
  EXPECT_EQ(root().read("/../outside").error().kind, ErrorKind::missing);
}

TEST_F(RootTest, SymlinksStayInside) {
  link("/etc/lvm/lvm.conf", "absolute");
  link("../../../../outside", "relative");
  link((base_ / "outside").string(), "host");
  link("/etc", "dirlink");
  EXPECT_EQ(root().read("/absolute").value(), "inside");
  EXPECT_EQ(root().read("/dirlink/lvm/lvm.conf").value(), "inside");
  EXPECT_EQ(root().read("/relative").error().kind, ErrorKind::missing);
  EXPECT_EQ(root().read("/host").error().kind, ErrorKind::missing);
  EXPECT_EQ(root().resolve("/dirlink/lvm/../lvm/new").value(), "/etc/lvm/new");
}

TEST_F(RootTest, CyclicLinksAreAnError) {
  link("b", "a");
  link("a", "b");
  EXPECT_EQ(root().read("/a").error().kind, ErrorKind::wrong_type);
}

TEST_F(RootTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo((base_ / "guest/fifo").c_str(), 0600), 0);
  EXPECT_EQ(root().read("/fifo").error().kind, ErrorKind::wrong_type);
  EXPECT_EQ(root().read("/etc").error().kind, ErrorKind::wrong_type);
  EXPECT_EQ(root().read("/").error().kind, ErrorKind::wrong_type);
  EXPECT_EQ(root().read("/etc/lvm/lvm.conf/x").error().kind, ErrorKind::missing);
}

TEST_F(RootTest, SizesAreCapped) {
  write(base_ / "guest/big", std::string(100, 'x'));
  EXPECT_EQ(root().read("/big", 99).error().kind, ErrorKind::too_large);
  EXPECT_EQ(root().read("/big", 100).value().size(), 100u);
  write(base_ / "guest/a", "");
  EXPECT_EQ(root().list("/", 1).error().kind, ErrorKind::too_large);
}

TEST_F(RootTest, PlaceNamesTheDirectoryAndTheMissingFile) {
  link("/etc/lvm", "lvmlink");
  auto place = root().place("/lvmlink/new.conf");
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_EQ(place->path, "/etc/lvm/new.conf");
  EXPECT_EQ(place->name, "new.conf");
  EXPECT_FALSE(root().place("/nowhere/new.conf"));
}

}  // namespace
}  // namespace preflight
