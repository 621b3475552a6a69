// SPDX-License-Identifier: MIT
#include "agent/formats/modprobe_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/boot_facts.h"

namespace preflight {
namespace {

using Kind = ModprobeDirective::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::nvme_image;
using testing::put;
using testing::put_link;
using testing::put_unread;
using testing::test_modules;

std::vector<ModprobeDirective> parse(std::string_view text) {
  return parse_modprobe_conf("x.conf", text);
}

TEST(ModprobeConf, ReadsEachDirective) {
  const auto lines = parse(
      "blacklist nvme-core\n"
      "alias pci:v0000FB5D-*[0-9] my-mod extra\n"
      "install nvme /bin/true # why\n"
      "options nvme poll_queues=1\n"
      "remove nvme /bin/false\n"
      "softdep nvme pre: a-b post: c\n");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].name, "nvme_core");
  EXPECT_EQ(lines[0].line, 1);
  EXPECT_EQ(lines[1].name, "pci:v0000FB5D_*[0-9]");
  EXPECT_EQ(lines[1].value, "my_mod");
  EXPECT_EQ(lines[2].kind, Kind::install);
  EXPECT_EQ(lines[2].value, "/bin/true # why");
  EXPECT_EQ(lines[3].kind, Kind::remove);
  EXPECT_EQ(lines[4].line, 6);
  EXPECT_THAT(softdep_modules(lines[4].value), ElementsAre("a-b", "c"));
}

TEST(ModprobeConf, CommentsCountInTheFirstColumnAlone) {
  EXPECT_THAT(parse("#blacklist nvme\n # blacklist nvme\n"), IsEmpty());
  const auto lines = parse("  blacklist\tnvme # blacklist other\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].name, "nvme");
}

TEST(ModprobeConf, ABackslashJoinsLinesCommentsToo) {
  EXPECT_THAT(parse("# a comment \\\nblacklist nvme\n"), IsEmpty());
  const auto lines = parse("black\\\nlist \\\n nv\\me\nblacklist x\\");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "nvme");
  EXPECT_EQ(lines[0].line, 1);
  EXPECT_EQ(lines[1].line, 4);
  EXPECT_EQ(lines[1].name, "x\xff");
}

TEST(ModprobeConf, LeavesOutWhatLibkmodRefuses) {
  EXPECT_THAT(parse("blacklist\nblacklist nv]me\nblacklist nv[me\nalias a\ninstall nvme\n"
                    "install nvme \ninclude /etc/x\nBlacklist nvme\n\n"),
              IsEmpty());
}

TEST(ModprobeConf, ANulEndsTheLine) {
  const auto lines = parse(std::string_view("blacklist nvme\0x\nblacklist a\n", 29));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "nvme");
  EXPECT_EQ(lines[1].line, 2);
}

TEST(ModprobeConf, FirstDirectoryWinsAndNamesSortBytewise) {
  Image image = nvme_image();
  put(image, "usr/lib/modprobe.d/a.conf", "blacklist lib_a\n");
  put(image, "usr/lib/modprobe.d/Z.conf", "blacklist lib_z\n");
  put(image, "etc/modprobe.d/a.conf", "blacklist etc_a\n");
  put(image, "etc/modprobe.d/a.conf.rpmsave", "blacklist no\n");
  put(image, "etc/modprobe.d/.b.conf", "blacklist no\n");
  put(image, "run/modprobe.d/b.conf", "blacklist no\n");
  put(image, "usr/local/lib/modprobe.d/c.conf", "blacklist local\n");
  put(image, std::string(test_modules) + "/modules.softdep", "softdep x pre: y\n");
  const auto names = [&](bool with_usr_local) {
    std::vector<std::string> out;
    for (const auto& line :
         read_modprobe_conf(image, std::string(test_modules), with_usr_local).directives)
      out.push_back(line.name);
    return out;
  };
  EXPECT_THAT(names(false), ElementsAre("lib_z", "etc_a", "x"));
  EXPECT_THAT(names(true), ElementsAre("lib_z", "etc_a", "local", "x"));
}

TEST(ModprobeConf, ALinkToNothingMasks) {
  Image image = nvme_image();
  put(image, "usr/lib/modprobe.d/a.conf", "blacklist nvme\n");
  put_link(image, "etc/modprobe.d/a.conf", "/dev/null");
  const ModprobeConf conf = read_modprobe_conf(image, "", false);
  EXPECT_THAT(conf.directives, IsEmpty());
  EXPECT_THAT(conf.unread, IsEmpty());
}

TEST(ModprobeConf, MoreThanAnyoneConfiguresIsNotRead) {
  Image image = nvme_image();
  const std::string half(600u << 10, '#');
  put(image, "etc/modprobe.d/a.conf", half + "\nblacklist a\n");
  put(image, "etc/modprobe.d/b.conf", half + "\nblacklist b\n");
  put(image, "etc/modprobe.d/c.conf", "blacklist c\n");
  const ModprobeConf conf = read_modprobe_conf(image, std::string(test_modules), false);
  ASSERT_EQ(conf.directives.size(), 2u);
  EXPECT_EQ(conf.directives[1].name, "c");
  EXPECT_THAT(conf.unread, ElementsAre("etc/modprobe.d/b.conf"));
}

TEST(ModprobeConf, NamesWhatWasNotKept) {
  Image image = nvme_image();
  put_unread(image, "etc/modprobe.d/a.conf");
  put(image, "etc/modprobe.d/dir.conf/x", "");
  EXPECT_THAT(read_modprobe_conf(image, "", false).unread, ElementsAre("etc/modprobe.d/a.conf"));
}

}  // namespace
}  // namespace preflight
