// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/guest/shell.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<std::vector<ShellValues>> source(const std::vector<ShellFile>& files) {
  return source_in_bash(files, {"hostonly", "add_drivers"}, {{"preset", "a'b"}});
}

/// The fence needs root and namespaces; in a container that has none, nothing can be tried.
class ShellTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto result = source({{"/a", "hostonly=yes"}});
    if (!result) GTEST_SKIP() << "no namespaces here: " << result.error().message();
  }

  /// What a command in a file prints, by way of a variable.
  static std::string seen(const std::string& command) {
    const auto result = source({{"/a", "hostonly=$(" + command + " 2>/dev/null)"}});
    if (!result) return result.error().message();
    return result->front().at("hostonly").value_or("unset");
  }
};

TEST_F(ShellTest, GivesValuesAfterEachFile) {
  const auto result = source({{"/a", "if true; then hostonly=\"$preset\"; fi\n"},
                              {"/b", "add_drivers+=\" nvme\n\"\n[[ a == a ]; then\nhostonly=x\n"},
                              {"/c", "hostonly=$(echo no)\necho noise\n"}});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->size(), 3u);
  EXPECT_EQ((*result)[0].at("hostonly"), "a'b");
  EXPECT_EQ((*result)[0].at("add_drivers"), std::nullopt);
  EXPECT_EQ((*result)[1].at("add_drivers"), " nvme\n");
  EXPECT_EQ((*result)[1].at("hostonly"), "a'b") << "a syntax error drops the rest of the file";
  EXPECT_EQ((*result)[2].at("hostonly"), "no");
}

TEST_F(ShellTest, RunsAsNobodyWithoutRights) {
  EXPECT_EQ(seen("cat /proc/self/status | grep -E '^(Uid|Gid|Groups|CapEff|NoNewPrivs)' | tr -d "
                 "' \\t'"),
            "Uid:65534655346553465534\nGid:65534655346553465534\nGroups:\n"
            "CapEff:0000000000000000\nNoNewPrivs:1");
}

TEST_F(ShellTest, WritesNothing) {
  const fs::path directory = fs::temp_directory_path() / "shell-test-open-to-all";
  fs::create_directories(directory);
  fs::permissions(directory, fs::perms::all);
  const auto result = source({{"/a", "hostonly=no\necho x > " + (directory / "made").string()}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(result.error().what, HasSubstr("Read-only file system"));
  EXPECT_FALSE(fs::exists(directory / "made"));
  fs::remove_all(directory);
}

TEST_F(ShellTest, HasNoNetworkButItsOwnLoopback) {
  EXPECT_EQ(seen("tail -n +3 /proc/self/net/dev | grep -v lo: | wc -l"), "0");
}

TEST_F(ShellTest, MountsStayAsTheyAreOutside) {
  std::ifstream before_file("/proc/self/mountinfo");
  const std::string before(std::istreambuf_iterator<char>(before_file), {});
  ASSERT_TRUE(source({{"/a", "hostonly=yes"}}));
  std::ifstream after_file("/proc/self/mountinfo");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(after_file), {}), before);
}

TEST_F(ShellTest, WhatDoesNotEndIsEnded) {
  const auto start = std::chrono::steady_clock::now();
  const auto result =
      source_in_bash({{"/a", "hostonly=yes"}, {"/b", "setsid sleep 300 & sleep 300"}}, {"hostonly"},
                     {}, std::chrono::seconds(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().path, "/b");
  EXPECT_THAT(result.error().what, HasSubstr("too long"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(ShellTest, ExitIsToldWithItsFile) {
  const auto result = source({{"/a", "hostonly=yes"}, {"/b", "exit 3"}, {"/c", ""}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().path, "/b");
  EXPECT_THAT(result.error().what, HasSubstr("status 3"));
}

TEST_F(ShellTest, ABackgroundProcessDoesNotOutliveIt) {
  const auto result =
      source({{"/a", "setsid sleep 271 </dev/null >/dev/null 2>&1 &\nhostonly=no"}});
  ASSERT_TRUE(result) << result.error().message();
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(file), {});
    EXPECT_NE(line, std::string("sleep\0"
                                "271\0",
                                10));
  }
}

TEST(ShellOutlookTest, TextsThatLookAtWhoRunsThemAreRefused) {
  for (const char* text : {"x=1\n[ $EUID = 0 ] && hostonly=no", "\n[ -r /root/x ] && hostonly=no",
                           "\n. \"${BASH_SOURCE%/*}/x\"", "\ncase $kernel in *) ;; esac"}) {
    const auto result = source({{"/a", text}});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(result.error().line, 2);
  }
}

}  // namespace
}  // namespace preflight
