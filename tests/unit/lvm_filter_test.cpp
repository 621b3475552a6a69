// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/formats/text.h"
#include "agent/guest/command.h"

namespace preflight {
namespace {

Result<LvmFilter> filter_of(const std::vector<std::string>& patterns) {
  return LvmFilter::create("/etc/lvm/lvm.conf", patterns);
}

bool accepts(const std::vector<std::string>& patterns, const std::vector<std::string>& names) {
  Result<LvmFilter> filter = filter_of(patterns);
  EXPECT_TRUE(filter) << filter.error().message();
  return filter && filter->judge(names).accepted;
}

TEST(LvmFilterTest, TheFirstMatchingPatternDecides) {
  EXPECT_TRUE(accepts({"a|^/dev/vda3$|", "r|.*|"}, {"/dev/vda3"}));
  EXPECT_FALSE(accepts({"a|^/dev/vda3$|", "r|.*|"}, {"/dev/nvme0n1p3"}));
  EXPECT_FALSE(accepts({"r|.*|", "a|^/dev/vda3$|"}, {"/dev/vda3"}));
  EXPECT_TRUE(accepts({"a|.*|"}, {"/dev/nvme0n1p3"}));
  EXPECT_TRUE(accepts({"r|^/dev/vd|"}, {"/dev/nvme0n1p3"}));
  EXPECT_TRUE(accepts({}, {"/dev/nvme0n1p3"}));
}

TEST(LvmFilterTest, AnyNameThatIsAcceptedWins) {
  const std::vector<std::string> patterns = {"a|^/dev/disk/by-id/nvme-|", "r|.*|"};
  EXPECT_TRUE(accepts(patterns, {"/dev/nvme0n1p3", "/dev/disk/by-id/nvme-x-part3"}));
  EXPECT_FALSE(accepts(patterns, {"/dev/nvme0n1p3", "/dev/disk/by-path/pci-part3"}));
  EXPECT_FALSE(accepts({"r|^/dev/nvme|"}, {"/dev/nvme0n1p3", "/dev/disk/by-id/x"}));
}

TEST(LvmFilterTest, SaysWhichPatternDecided) {
  Result<LvmFilter> filter = filter_of({"a|/dev/vd.*|", "r|.*|"});
  ASSERT_TRUE(filter);
  const LvmFilterVerdict verdict = filter->judge({"/dev/nvme0n1p3"});
  EXPECT_FALSE(verdict.accepted);
  EXPECT_EQ(verdict.pattern, 1u);
  EXPECT_EQ(verdict.name, "/dev/nvme0n1p3");
  EXPECT_FALSE(filter_of({"r|sda|"})->judge({"/dev/nvme0n1"}).pattern);
}

TEST(LvmFilterTest, DelimitersAreAnyCharacterOrAPair) {
  for (const char* pattern : {"r/vda/", "r(vda)", "r[vda]", "r{vda}", "r@vda@", "rxvdax"})
    EXPECT_FALSE(accepts({pattern}, {"/dev/vda"})) << pattern;
  // Unanchored: the expression may match anywhere in the name.
  EXPECT_FALSE(accepts({"r|vd[a-c][0-9]+|"}, {"/dev/vdb12x"}));
}

TEST(LvmFilterTest, WhatLvmRefusesIsMalformed) {
  for (const char* pattern : {"", "a", "a|", "x|.*|", "|.*|", "a|.*", "a|.*/", "a(.*(", "a||",
                              "a|(|", "a|[|", "a|*|", "a|\\|"}) {
    Result<LvmFilter> filter = filter_of({pattern});
    ASSERT_FALSE(filter) << pattern;
    EXPECT_EQ(filter.error().kind, ErrorKind::malformed) << pattern;
    EXPECT_EQ(filter.error().path, "/etc/lvm/lvm.conf");
  }
}

TEST(LvmFilterTest, HostilePatternsAreNotTried) {
  // A range up to 0x7f and bytes beyond it would make the engine's signed index run away.
  for (const char* pattern : {"a|[a-\x7f]|", "a|[\xc3\xa9]|", "a|\\\xff|"})
    EXPECT_EQ(filter_of({pattern}).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(filter_of({"a|" + std::string(5000, 'x') + "|"}).error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(filter_of({"a|[ -~]|"}));
}

TEST(LvmFilterTest, CostlyPatternsStayBounded) {
  std::string stars, alternatives, brackets;
  for (int i = 0; i < 1300; ++i) stars += ".*a";
  for (int i = 0; i < 1300; ++i) alternatives += "a?|";
  for (int i = 0; i < 1300; ++i) brackets += "(((";
  const std::string name = "/dev/" + std::string(4000, 'a');
  for (const std::string& regex : {stars, alternatives + "a", std::string(4000, '*'), brackets}) {
    Result<LvmFilter> filter = filter_of({"a#" + regex + "#", "r#.*#"});
    if (filter) filter->judge({name, name + "a"});
  }
  EXPECT_FALSE(filter_of({"a|x|"})->judge({std::string(10000, 'x')}).pattern);
}

/// pvs itself as the judge, on a loop device.
class PvsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || !std::filesystem::exists("/usr/sbin/pvs") ||
        !std::filesystem::exists("/usr/sbin/losetup"))
      GTEST_SKIP() << "needs root, lvm2 and losetup: NOT COMPARED WITH LVM";
    std::string pattern = (std::filesystem::temp_directory_path() / "lvm-filter-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    std::ofstream(directory_ / "lvm.conf") << "devices { use_devicesfile = 0 scan_lvs = 0 }\n";
    std::ofstream(directory_ / "disk").put('\0');
    std::filesystem::resize_file(directory_ / "disk", 8u << 20);
    device_ =
        trim(output_of({"/usr/sbin/losetup", "-f", "--show", (directory_ / "disk").string()}).out);
    if (device_.empty() || listed(pvs("\"a|.*|\"")) != true)
      GTEST_SKIP() << "no loop device that pvs lists: NOT COMPARED WITH LVM";
  }
  void TearDown() override {
    if (!device_.empty()) output_of({"/usr/sbin/losetup", "-d", device_});
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  CommandOutput output_of(std::vector<std::string> arguments) {
    Command command;
    command.argv = std::move(arguments);
    command.environment = {"LVM_SYSTEM_DIR=" + directory_.string(), "LVM_SUPPRESS_FD_WARNINGS=1"};
    return run(command).value();
  }
  CommandOutput pvs(const std::string& patterns) {
    return output_of({"/usr/sbin/pvs", "-a", "--noheadings", "--config",
                      fmt::format("devices {{ filter = [ {} ] }}", patterns)});
  }
  bool listed(const CommandOutput& output) const {
    for (const std::string_view word : split_words(output.out))
      if (word == device_) return true;
    return false;
  }

  std::filesystem::path directory_;
  std::string device_;
};

TEST_F(PvsTest, JudgesAlike) {
  const std::string exact = "a|^" + device_ + "$|";
  const std::vector<std::vector<std::string>> lists = {
      {exact, "r|.*|"},
      {"r|.*|", exact},
      {"r|loop|"},
      {"r|^loop|"},
      {"a|^/dev/vda|", "r|.*|"},
      {"a|^/dev/vda|"},
      {"r|loop[0-9]+$|"},
      {"r|loop[^0-9]|"},
      {"r(/dev/(loop|vd).*)"},
      {"a/loop/", "r/dev/"},
      {"r/dev/", "a/loop/"},
      {"r|lo?op|", "a|.*|"},
      {"r|l(o)*p|"},
      {"r|LOOP|"},
      {"r{^/dev/l.+}"},
      {"a|loop$|", "r|loop.|"},
      {"r|loop{1}|"},
      {"a|(loop|", "r|.*|"},
      {"a|loop)|", "r|.*|"},
      {"a|[|", "r|.*|"},
      {"a|loop"},
      {"x|loop|"},
      {"a|*|"},
      {"a||"},
      {"a|+loop|"},
      {"r|loop|loop|"},
      {"a||x|", "r|.*|"},
      {"r|\\/dev\\/loop|"},
      {"r|^/dev/loop|", "a|x|"},
      {"a|^$|", "r|.*|"},
  };
  for (const std::vector<std::string>& list : lists) {
    std::string text;
    for (const std::string& pattern : list) text += (text.empty() ? "'" : ", '") + pattern + "'";
    const CommandOutput output = pvs(text);
    Result<LvmFilter> filter = filter_of(list);
    EXPECT_EQ(output.exit_status == 0, filter.has_value()) << text << "\n" << output.err;
    if (!filter || output.exit_status != 0) continue;
    EXPECT_EQ(listed(output), filter->judge({device_}).accepted) << text;
  }
}

}  // namespace
}  // namespace preflight
