// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_filter.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace preflight
