// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/facts/dracut.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* dist = "/usr/lib/dracut/dracut.conf.d/01-dist.conf";

class DracutFactsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "dracut-facts-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    write(dist, "hostonly=\"yes\"\nhostonly_cmdline=\"no\"\n");
    fs::create_directories(base_ / "etc/dracut.conf.d");
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((base_ / path.substr(1)).parent_path());
    std::ofstream(base_ / path.substr(1), std::ios::binary) << text;
  }
  void link(const std::string& target, const std::string& path) {
    fs::create_symlink(target, base_ / path.substr(1));
  }
  Guest guest() { return {Root::open(base_.string()).value(), base_.string(), false, false, {}}; }
  Result<DracutConfig> collect() { return collect_dracut(guest()); }

  fs::path base_;
};

TEST_F(DracutFactsTest, DropInsOverrideTheMainFile) {
  write("/etc/dracut.conf", "hostonly=\"no\"\n");
  const auto config = collect();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_TRUE(config->hostonly());
  EXPECT_THAT(config->files, ElementsAre("/etc/dracut.conf", dist));
  const auto& assignments = config->find("hostonly")->assignments;
  ASSERT_EQ(assignments.size(), 2u);
  EXPECT_EQ(assignments[1].path, dist);
  EXPECT_EQ(assignments[1].line, 1);
}

TEST_F(DracutFactsTest, EtcMasksTheVendorsFile) {
  write("/etc/dracut.conf.d/01-dist.conf", "hostonly=no\n");
  EXPECT_FALSE(collect()->hostonly());
  EXPECT_THAT(collect()->files, ElementsAre("/etc/dracut.conf.d/01-dist.conf"));
}

TEST_F(DracutFactsTest, ALinkToDevNullMasksEvenWithoutADev) {
  for (const char* target : {"/dev/null", "../../dev/null"}) {
    fs::remove(base_ / "etc/dracut.conf.d/01-dist.conf");
    link(target, "/etc/dracut.conf.d/01-dist.conf");
    const auto config = collect();
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_FALSE(config->hostonly());
    ASSERT_EQ(config->sources.size(), 1u);
    EXPECT_TRUE(config->sources[0].masked);
  }
  fs::create_directories(base_ / "dev");
  EXPECT_FALSE(collect()->hostonly());
}

TEST_F(DracutFactsTest, ADanglingLinkMasksNothing) {
  link("/nowhere", "/etc/dracut.conf.d/01-dist.conf");
  const auto config = collect();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_TRUE(config->hostonly());
  ASSERT_EQ(config->notes.size(), 1u);
  EXPECT_EQ(config->notes[0].path, "/etc/dracut.conf.d/01-dist.conf");
}

TEST_F(DracutFactsTest, LinksStayInsideTheTree) {
  link("/etc/other", "/etc/dracut.conf.d/zz.conf");
  write("/etc/other", "hostonly=no\n");
  EXPECT_FALSE(collect()->hostonly());
}

TEST_F(DracutFactsTest, ADirectoryIsPassedOverAFifoIsNot) {
  fs::create_directories(base_ / "etc/dracut.conf.d/a.conf");
  ASSERT_TRUE(collect());
  EXPECT_EQ(collect()->notes.size(), 1u);
  ASSERT_EQ(::mkfifo((base_ / "etc/dracut.conf").c_str(), 0600), 0);
  ASSERT_TRUE(collect()) << "[[ -f ]] is false for it";
  ASSERT_EQ(::mkfifo((base_ / "etc/dracut.conf.d/b.conf").c_str(), 0600), 0);
  const auto config = collect();
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::wrong_type);
  EXPECT_EQ(config.error().path, "/etc/dracut.conf.d/b.conf");
}

TEST_F(DracutFactsTest, TooLargeFilesAreNamed) {
  write("/etc/dracut.conf.d/big.conf", std::string((1u << 20) + 1, '#'));
  EXPECT_EQ(collect().error().kind, ErrorKind::too_large);
  EXPECT_EQ(collect().error().path, "/etc/dracut.conf.d/big.conf");
}

TEST_F(DracutFactsTest, NothingOfATreeIsExecuted) {
  write("/etc/dracut.conf.d/a.conf", "\nhostonly=$(touch /tmp/executed-from-a-tree; echo no)\n");
  Guest privileged = guest();
  privileged.privileged = true;
  const auto config = collect_dracut(privileged);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(config.error().path, "/etc/dracut.conf.d/a.conf");
  EXPECT_EQ(config.error().line, 2);
  EXPECT_THAT(config.error().what, HasSubstr("--root"));
  EXPECT_FALSE(fs::exists("/tmp/executed-from-a-tree"));
}

TEST_F(DracutFactsTest, EqualNamesMatterOnlyIfTheyDisagree) {
  write("/etc/dracut.conf.d/99.conf", "hostonly=no\n");
  write("/etc/dracut.conf.d/099.conf", "hostonly=no\n");
  ASSERT_TRUE(collect()) << collect().error().message();
  write("/etc/dracut.conf.d/099.conf", "add_drivers=x\n");
  ASSERT_FALSE(collect());
  EXPECT_EQ(collect().error().kind, ErrorKind::unsupported);
}

TEST_F(DracutFactsTest, AnOverlayReplacesAndAdds) {
  const std::string path = "/etc/dracut.conf.d/zz-nvme-preflight.conf";
  EXPECT_FALSE(collect_dracut(guest(), {{path, "hostonly=\"no\"\n"}})->hostonly());
  EXPECT_FALSE(collect_dracut(guest(), {{dist, ""}})->hostonly());
  EXPECT_TRUE(collect()->hostonly());
}

TEST_F(DracutFactsTest, NoDracutAtAllIsMissing) {
  fs::remove_all(base_ / "usr");
  fs::remove_all(base_ / "etc");
  EXPECT_EQ(collect().error().kind, ErrorKind::missing);
  fs::create_directories(base_ / "usr/lib/dracut");
  ASSERT_TRUE(collect());
  EXPECT_FALSE(collect()->hostonly());
}

TEST_F(DracutFactsTest, OnTheLiveSystemBashEvaluates) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  write("/etc/dracut.conf.d/a.conf", "add_drivers+=\"nvme\"\n");
  write("/etc/dracut.conf.d/b.conf", "for d in nvme_core; do add_drivers+=$d; done\n");
  write("/etc/dracut.conf.d/c.conf", "hostonly=$(echo no)\n");
  Guest live = guest();
  live.live = live.privileged = true;
  const auto config = collect_dracut(live);
  if (!config && config.error().what.find("run safely") != std::string::npos)
    GTEST_SKIP() << config.error().message();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_TRUE(config->by_bash);
  EXPECT_FALSE(config->hostonly());
  EXPECT_EQ(config->find("hostonly")->assignments.back().path, "/etc/dracut.conf.d/c.conf");
  const auto& drivers = config->find("add_drivers")->assignments;
  ASSERT_EQ(drivers.size(), 2u);
  EXPECT_EQ(config->value("add_drivers"), "nvmenvme_core");
  EXPECT_EQ(drivers[1].path, "/etc/dracut.conf.d/b.conf");
  EXPECT_FALSE(drivers[1].padded);
}

TEST_F(DracutFactsTest, InternalsSetByBashCannotBeTold) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  write("/etc/dracut.conf.d/a.conf", "if true; then confdir=/x; fi\n");
  Guest live = guest();
  live.live = live.privileged = true;
  EXPECT_EQ(collect_dracut(live).error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace preflight
