// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "agent/formats/dracut_conf.h"
#include "agent/formats/text.h"
#include "agent/guest/command.h"

namespace preflight {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr VersionSort both[] = {VersionSort::before_9_1, VersionSort::since_9_1};

std::set<std::string> odd_names() {
  std::set<std::string> names = {"01-dist.conf",
                                 "02-generic-image.conf",
                                 "02-rescue.conf",
                                 "1.conf",
                                 "01.conf",
                                 "001.conf",
                                 "10-x.conf",
                                 "9-x.conf",
                                 "50-a.conf",
                                 "50-a.b.conf",
                                 "50-a..conf",
                                 "50-a.1.conf",
                                 "50-a.1b.conf",
                                 "50-a.b1.conf",
                                 "99-zz.conf",
                                 "zz-nvme-preflight.conf",
                                 "ZZ.conf",
                                 "zz.conf",
                                 "a~.conf",
                                 "a.conf",
                                 "a.~conf.conf",
                                 "a0.conf",
                                 "a00.conf",
                                 "a01.conf",
                                 "a1.conf",
                                 "a10.conf",
                                 "a2.conf",
                                 "a_b.conf",
                                 "a-b.conf",
                                 "a+b.conf",
                                 "a.b.c.conf",
                                 "a.b-c.conf",
                                 "~.conf",
                                 "~~.conf",
                                 "x.conf.conf",
                                 "x.CONF.conf",
                                 "x..conf",
                                 "x...conf",
                                 "x.1.2.conf",
                                 "x.10.2.conf",
                                 "99999999999999999999.conf",
                                 "099999999999999999998.conf",
                                 "-.conf",
                                 "--.conf",
                                 "=.conf",
                                 "nvme.conf",
                                 "nvme-1.conf",
                                 "\xc3\xa9.conf",
                                 "zz-nvme-preflight.b.conf",
                                 "#x.conf"};
  const std::string alphabet = "aAzZ0019~._-+";
  std::mt19937 random(4711);  // NOLINT: the same names every time
  while (names.size() < 500) {
    std::string name;
    for (auto left = random() % 8 + 1; left > 0; --left)
      name += alphabet[random() % alphabet.size()];
    if (name.front() != '.') names.insert(name + ".conf");
  }
  return names;
}

/// What the system's own sort makes of the names; nullopt where there is no GNU sort.
std::optional<std::vector<std::string>> sorted_by_oracle(const std::vector<std::string>& names,
                                                         const std::string& options) {
  Command command;
  command.argv = {"/usr/bin/sort", options};
  command.environment = {"LC_ALL=C"};
  for (const std::string& name : names) command.input += name + '\n';
  const auto output = run(command);
  if (!output || output->exit_status != 0) return std::nullopt;
  std::vector<std::string> sorted;
  for (const std::string_view line : split_lines(output->out)) sorted.emplace_back(line);
  return sorted;
}

/// The comparison of the sort that is installed here.
std::optional<VersionSort> oracle_version() {
  const auto output = sorted_by_oracle({"1", "01"}, "-Vu");
  if (!output) return std::nullopt;
  return output->size() == 1 ? VersionSort::since_9_1 : VersionSort::before_9_1;
}

TEST(DracutNamesTest, SortsAsTheSystemDoes) {
  const auto version = oracle_version();
  if (!version) GTEST_SKIP() << "no GNU sort here to compare with";
  const std::set<std::string> names = odd_names();
  std::vector<std::string> ours(names.begin(), names.end());
  const auto theirs = sorted_by_oracle(ours, "-Vs");
  std::stable_sort(ours.begin(), ours.end(), [&](const std::string& a, const std::string& b) {
    return compare_versions(a, b, *version) < 0;
  });
  EXPECT_EQ(ours, theirs);
}

TEST(DracutNamesTest, DropsWhatTheSystemDrops) {
  const auto version = oracle_version();
  if (!version) GTEST_SKIP() << "no GNU sort here to compare with";
  const std::set<std::string> names = odd_names();
  const std::vector<std::string> list(names.begin(), names.end());
  const DropInDirectory directory{"/d", list};
  const auto order = order_drop_ins({&directory, 1}, *version);
  ASSERT_TRUE(order) << order.error().message();
  std::vector<std::string> theirs = *sorted_by_oracle(list, "-Vu");
  for (std::string& name : theirs) name.insert(0, "/d/");
  EXPECT_EQ(order->paths, theirs);
}

TEST(DracutNamesTest, EveryPairComparesBothWaysAlike) {
  const std::set<std::string> names = odd_names();
  for (const VersionSort sort : both)
    for (const std::string& a : names)
      for (const std::string& b : names) {
        const int forth = compare_versions(a, b, sort);
        const int back = compare_versions(b, a, sort);
        ASSERT_EQ(forth<0, back> 0) << a << ' ' << b;
        ASSERT_TRUE(forth != 0 || a == b || sort == VersionSort::since_9_1) << a << ' ' << b;
      }
}

TEST(DracutNamesTest, LeadingZerosCountOnlyBefore9_1) {
  EXPECT_EQ(compare_versions("1.conf", "01.conf", VersionSort::since_9_1), 0);
  EXPECT_GT(compare_versions("1.conf", "01.conf", VersionSort::before_9_1), 0);
}

TEST(DracutNamesTest, KnownOrders) {
  for (const VersionSort sort : both) {
    EXPECT_LT(compare_versions("50-a.b.conf", "50-a.conf", sort), 0);
    EXPECT_LT(compare_versions("9-x.conf", "10-x.conf", sort), 0);
    EXPECT_LT(compare_versions("ZZ.conf", "zz.conf", sort), 0);
    EXPECT_LT(compare_versions("99-zz.conf", "a.conf", sort), 0);
    EXPECT_LT(compare_versions("01-dist.conf", "zz-nvme-preflight.conf", sort), 0);
  }
}

TEST(DropInOrderTest, MergesByNameAndTheFirstDirectoryWins) {
  const DropInDirectory directories[] = {
      {"/etc/dracut.conf.d", {"99-x.conf", "01-dist.conf", ".hidden.conf", "README", ".conf"}},
      {"/usr/lib/dracut/dracut.conf.d", {"01-dist.conf", "02-rescue.conf"}}};
  const auto order = order_drop_ins(directories, VersionSort::before_9_1);
  ASSERT_TRUE(order);
  EXPECT_THAT(order->paths, ElementsAre("/etc/dracut.conf.d/01-dist.conf",
                                        "/usr/lib/dracut/dracut.conf.d/02-rescue.conf",
                                        "/etc/dracut.conf.d/99-x.conf"));
  EXPECT_THAT(order->notes, IsEmpty());
}

TEST(DropInOrderTest, NamesWithBlanksAreLostAndTold) {
  const DropInDirectory directory{"/etc/dracut.conf.d", {"my x.conf", "a\nb.conf", "c.conf"}};
  const auto order = order_drop_ins({&directory, 1}, VersionSort::since_9_1);
  ASSERT_TRUE(order);
  EXPECT_THAT(order->paths, ElementsAre("/etc/dracut.conf.d/c.conf"));
  ASSERT_EQ(order->notes.size(), 2u);
  EXPECT_EQ(order->notes[1].path, "/etc/dracut.conf.d/my x.conf");
}

TEST(DropInOrderTest, PatternsAndSplitsIntoFilesCannotBeTold) {
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {"a*.conf"}, {"a[bc].conf"}, {"a?.conf"}, {"a\\b.conf"}, {"my x.conf", "my"}}) {
    const DropInDirectory directory{"/etc/dracut.conf.d", names};
    const auto order = order_drop_ins({&directory, 1}, VersionSort::since_9_1);
    ASSERT_FALSE(order) << names[0];
    EXPECT_EQ(order.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(order.error().path, "/etc/dracut.conf.d/" + names[0]);
  }
}

std::vector<std::string> paths_of(const std::vector<DracutFile>& files) {
  std::vector<std::string> paths;
  for (const DracutFile& file : files) paths.push_back(file.path);
  return paths;
}

TEST(WithDropInTest, ComesWhereItsNameSorts) {
  const std::vector<DracutFile> files = {{"/etc/dracut.conf", ""},
                                         {"/etc/dracut.conf.d/a.conf", ""},
                                         {"/etc/dracut.conf.d/zz-zz.conf", ""}};
  const DracutFile ours{"/etc/dracut.conf.d/zz-nvme-preflight.conf", "x"};
  EXPECT_THAT(paths_of(with_drop_in(files, ours)),
              ElementsAre("/etc/dracut.conf", "/etc/dracut.conf.d/a.conf", ours.path,
                          "/etc/dracut.conf.d/zz-zz.conf"));
  EXPECT_THAT(paths_of(with_drop_in({{"/etc/dracut.conf", ""}}, ours)),
              ElementsAre("/etc/dracut.conf", ours.path));
}

TEST(WithDropInTest, ReplacesTheSameNameInEitherDirectory) {
  const DracutFile ours{"/etc/dracut.conf.d/zz-nvme-preflight.conf", "new"};
  for (const char* path : {"/etc/dracut.conf.d/zz-nvme-preflight.conf",
                           "/usr/lib/dracut/dracut.conf.d/zz-nvme-preflight.conf"}) {
    const auto files = with_drop_in({{path, "old"}}, ours);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].path, ours.path);
    EXPECT_EQ(files[0].text, "new");
  }
}

}  // namespace
}  // namespace preflight
