// SPDX-License-Identifier: MIT
#include "agent/guest/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/guest/command.h"
#include "agent/guest/lock.h"
#include "agent/guest/settle.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "writer-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    fs::create_directories(base_ / "guest/etc");
    write("guest/etc/file", "old");
    write("outside", "secret");
    root_.emplace(Root::open((base_ / "guest").string()).value());
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(base_ / name, std::ios::binary) << text;
  }
  std::string text(const std::string& name) {
    std::ifstream in(base_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Attributes attributes(const Root::Place& place) {
    const OpenFile file = open_regular(at(place)).value();
    return read_attributes(file.fd.get(), place.path).value();
  }
  std::vector<std::string> names() { return root_->list("/etc").value(); }

  fs::path base_;
  std::optional<Root> root_;
};

TEST_F(WriterTest, ReplacesTheBytesAndKeepsTheRest) {
  const Root::Place place = root_->place("/etc/file").value();
  ASSERT_EQ(::chmod((base_ / "guest/etc/file").c_str(), 04710), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((base_ / "guest/etc/file").c_str(), 12, 34), 0);
    ASSERT_EQ(::chmod((base_ / "guest/etc/file").c_str(), 04710), 0);
    ::setxattr((base_ / "guest/etc/file").c_str(), "trusted.note", "t", 1, 0);
  }
  ::setxattr((base_ / "guest/etc/file").c_str(), "user.note", "u\0v", 3, 0);
  const Attributes before = attributes(place);
  ASSERT_TRUE(replace_file(at(place), bytes_of("new"), before, Bytes::changed));
  EXPECT_EQ(text("guest/etc/file"), "new");
  Attributes after = attributes(place);
  EXPECT_NE(after.modified.tv_nsec, before.modified.tv_nsec);
  ASSERT_TRUE(replace_file(at(place), bytes_of("old"), before, Bytes::original));
  after = attributes(place);
  EXPECT_TRUE(after.same_as(before));
  EXPECT_EQ(after.accessed.tv_nsec, before.accessed.tv_nsec);
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(WriterTest, KeepsAnAcl) {
  if (::geteuid() != 0 || !fs::exists("/usr/bin/setfacl"))
    GTEST_SKIP() << "setfacl is not installed, or not root";
  Command command;
  command.argv = {"/usr/bin/setfacl", "-m", "u:77:r,g:88:rw", (base_ / "guest/etc/file").string()};
  if (run(command).value().exit_status != 0) GTEST_SKIP() << "no ACLs on this file system";
  const Root::Place place = root_->place("/etc/file").value();
  const Attributes before = attributes(place);
  ASSERT_TRUE(before.xattrs.contains("system.posix_acl_access"));
  ASSERT_TRUE(replace_file(at(place), bytes_of("new"), before, Bytes::changed));
  EXPECT_EQ(attributes(place).xattrs, before.xattrs);
  EXPECT_EQ(attributes(place).mode, before.mode);
}

TEST_F(WriterTest, AFailedSourceLeavesTheFileAndNoTrace) {
  const Root::Place place = root_->place("/etc/file").value();
  const ByteSource broken = [count = 0](std::span<std::byte>) mutable -> Result<std::size_t> {
    if (++count > 1) return fail(ErrorKind::io, "source", "broken");
    return std::size_t{3};
  };
  EXPECT_FALSE(replace_file(at(place), broken, attributes(place), Bytes::changed));
  EXPECT_EQ(text("guest/etc/file"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(WriterTest, ALeftoverOrAPlantedLinkAtTheTemporaryNameDoesNoHarm) {
  fs::create_symlink(base_ / "outside", base_ / "guest/etc" / temporary_name("file"));
  const Root::Place place = root_->place("/etc/file").value();
  ASSERT_TRUE(replace_file(at(place), bytes_of("new"), attributes(place), Bytes::changed));
  EXPECT_EQ(text("outside"), "secret");
  EXPECT_EQ(text("guest/etc/file"), "new");
}

TEST_F(WriterTest, OpensNoLinkAndNoFifo) {
  fs::create_symlink("file", base_ / "guest/etc/link");
  ASSERT_EQ(::mkfifo((base_ / "guest/etc/fifo").c_str(), 0600), 0);
  const Fd etc = root_->open_directory("/etc").value();
  EXPECT_EQ(open_regular(inside(etc, "/etc", "link")).error().kind, ErrorKind::wrong_type);
  EXPECT_EQ(open_regular(inside(etc, "/etc", "fifo")).error().kind, ErrorKind::wrong_type);
  EXPECT_EQ(open_regular(inside(etc, "/etc", "none")).error().kind, ErrorKind::missing);
  EXPECT_FALSE(create_file(inside(etc, "/etc", "link"), bytes_of("x")));
  EXPECT_EQ(text("guest/etc/file"), "old");
}

TEST_F(WriterTest, RemovesATreeButNothingALinkLeadsTo) {
  fs::create_directories(base_ / "guest/etc/tree/a/b/c");
  write("guest/etc/tree/a/b/c/file", "x");
  fs::create_directory_symlink(base_, base_ / "guest/etc/tree/a/link");
  const Root::Place place = root_->place("/etc/tree").value();
  ASSERT_TRUE(remove_tree(at(place)));
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
  EXPECT_EQ(text("outside"), "secret");
  EXPECT_TRUE(remove_tree(at(place)));
}

TEST_F(WriterTest, RemovesADeepTreeWithoutRunningOutOfAnything) {
  std::string path = (base_ / "guest/etc/deep").string();
  for (int i = 0; i < 300; ++i) path += "/d";
  fs::create_directories(path);
  EXPECT_TRUE(remove_tree(at(root_->place("/etc/deep").value())));
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(WriterTest, RenamesOverNothing) {
  write("guest/etc/other", "other");
  const Root::Place place = root_->place("/etc/file").value();
  EXPECT_FALSE(rename_file(at(place), "other"));
  EXPECT_EQ(text("guest/etc/other"), "other");
  EXPECT_TRUE(rename_file(at(place), "third"));
  EXPECT_EQ(text("guest/etc/third"), "old");
}

TEST_F(WriterTest, AppendsWholeLinesOrNothing) {
  const Fd etc = root_->open_directory("/etc").value();
  const Fd log = open_log(inside(etc, "/etc", "log")).value();
  ASSERT_TRUE(append_synced(log.get(), "log", "one\n"));
  ASSERT_TRUE(append_synced(log.get(), "log", "two\n"));
  EXPECT_EQ(text("guest/etc/log"), "one\ntwo\n");
  ASSERT_TRUE(truncate_to(log.get(), "log", 4));
  ASSERT_TRUE(append_synced(log.get(), "log", "three\n"));
  EXPECT_EQ(text("guest/etc/log"), "one\nthree\n");
}

TEST_F(WriterTest, SeesWhatChattrForbids) {
  if (::geteuid() != 0) GTEST_SKIP() << "chattr needs root";
  Command command;
  command.argv = {"/usr/bin/chattr", "+i", (base_ / "guest/etc/file").string()};
  const auto set = run(command);
  if (!set || set->exit_status != 0) GTEST_SKIP() << "no immutable flag on this file system";
  const OpenFile file = open_regular(at(root_->place("/etc/file").value())).value();
  const std::string why = locked_by_flags(file.fd.get());
  command.argv[1] = "-i";
  ASSERT_TRUE(run(command));
  EXPECT_NE(why.find("immutable"), std::string::npos);
  EXPECT_EQ(locked_by_flags(file.fd.get()), "");
}

TEST_F(WriterTest, OneHolderAtATimeAndItIsNamed) {
  {
    auto first = Lock::acquire(root_->open_directory("/etc").value(), "/etc", "pid 1, me\n");
    ASSERT_TRUE(first) << first.error().message();
    auto second = Lock::acquire(root_->open_directory("/etc").value(), "/etc", "pid 2\n");
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().what.find("pid 1, me"), std::string::npos);
    EXPECT_FALSE(Lock::check_free(root_->open_directory("/etc").value(), "/etc"));
  }
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
  EXPECT_TRUE(Lock::check_free(root_->open_directory("/etc").value(), "/etc"));
  write("guest/etc/lock", "pid 9, died\n");
  EXPECT_TRUE(Lock::acquire(root_->open_directory("/etc").value(), "/etc", "pid 3\n"));
}

TEST(SettleTest, SyncsOrSaysWhyNot) {
  const Fd directory(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(settle(directory.get(), "/boot"));
  EXPECT_EQ(settle(-1, "/boot").error().path, "/boot");
}

}  // namespace
}  // namespace preflight
