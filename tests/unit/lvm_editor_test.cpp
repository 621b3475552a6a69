// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/formats/lvm_conf_edit.h"
#include "tests/unit/lvm_corpus.h"

namespace preflight {
namespace {

constexpr const char* setting = "devices/use_devicesfile";

Result<std::string> edited(const std::string& text, const char* value = "0") {
  Result<LvmConf> conf = LvmConf::parse("/etc/lvm/lvm.conf", text);
  if (!conf) return tl::unexpected(conf.error());
  return set_lvm_value(*conf, "devices", "use_devicesfile", value);
}

TEST(LvmEditorTest, ReplacesTheValueAlone) {
  EXPECT_EQ(edited("devices {\n\tuse_devicesfile = 1 # on\n}\n").value(),
            "devices {\n\tuse_devicesfile = 0 # on\n}\n");
  EXPECT_EQ(edited("devices { use_devicesfile = \"0\" }").value(),
            "devices { use_devicesfile = 0 }");
  EXPECT_EQ(edited("devices{use_devicesfile=yes}").value(), "devices{use_devicesfile=0}");
  EXPECT_EQ(edited("devices { use_devicesfile = [ 1 ] }").value(),
            "devices { use_devicesfile = 0 }");
  EXPECT_EQ(edited("devices/use_devicesfile=1").value(), "devices/use_devicesfile=0");
}

TEST(LvmEditorTest, KeepsWhatFollowsApart) {
  // As "0x=1" newer versions of libdevmapper would read one broken number.
  EXPECT_EQ(edited("devices { use_devicesfile = \"1\"x=1 }").value(),
            "devices { use_devicesfile = 0 x=1 }");
  EXPECT_EQ(edited("devices { use_devicesfile=[1]}").value(), "devices { use_devicesfile=0}");
}

TEST(LvmEditorTest, OfDuplicatesTheLastIsChanged) {
  EXPECT_EQ(edited("devices {\nuse_devicesfile=0\nuse_devicesfile=1\n}").value(),
            "devices {\nuse_devicesfile=0\nuse_devicesfile=0\n}");
}

TEST(LvmEditorTest, StandsBehindTheTemplatesComment) {
  std::string wanted = el9_lvm_conf;
  const std::string comment = "\t# use_devicesfile = 1\n";
  wanted.insert(wanted.find(comment) + comment.size(), "\tuse_devicesfile = 0\n");
  EXPECT_EQ(edited(el9_lvm_conf).value(), wanted);
  EXPECT_EQ(edited("devices {\n#use_devicesfile=1\n}\n").value(),
            "devices {\n#use_devicesfile=1\nuse_devicesfile = 0\n}\n");
}

TEST(LvmEditorTest, ACommentElsewhereAttractsNothing) {
  EXPECT_EQ(
      edited("# use_devicesfile = 1\ndevices {\n}\nglobal {\n # use_devicesfile = 1\n}\n").value(),
      "# use_devicesfile = 1\ndevices {\n\tuse_devicesfile = 0\n}\nglobal {\n # "
      "use_devicesfile = 1\n}\n");
  const std::string in_list =
      "devices {\n\tfilter = [\n\t\t\"a|x|\",\n\t\t# use_devicesfile = 1\n\t\t\"r|.*|\"\n\t]\n}\n";
  EXPECT_EQ(edited(in_list).value(), "devices {\n\tuse_devicesfile = 0\n" + in_list.substr(10));
}

TEST(LvmEditorTest, KeepsLineEndingsAndAMissingLastNewline) {
  EXPECT_EQ(edited("devices {\r\n\tdir = 1\r\n}").value(),
            "devices {\r\n\tuse_devicesfile = 0\r\n\tdir = 1\r\n}");
  EXPECT_EQ(edited("global {\r\n\tumask = 077\r\n}").value(),
            "global {\r\n\tumask = 077\r\n}\r\ndevices {\r\n\tuse_devicesfile = 0\r\n}\r\n");
  EXPECT_EQ(edited("global { a = 1 } # c").value(),
            "global { a = 1 } # c\ndevices {\n\tuse_devicesfile = 0\n}\n");
  EXPECT_EQ(edited("").value(), "devices {\n\tuse_devicesfile = 0\n}\n");
}

TEST(LvmEditorTest, OpensUpOneLineSections) {
  EXPECT_EQ(edited("devices { dir = 1 }").value(), "devices { use_devicesfile = 0 dir = 1 }");
  EXPECT_EQ(edited("devices{}").value(), "devices{ use_devicesfile = 0 }");
  EXPECT_EQ(edited("devices\n{ # first\ndir=1 }").value(),
            "devices\n{ # first\n\tuse_devicesfile = 0\ndir=1 }");
}

TEST(LvmEditorTest, RefusesWhatItCannotProve) {
  using namespace std::string_literals;
  // Nothing that is put behind the NUL is read.
  EXPECT_FALSE(edited("global { a = 1 }\0"s));
  Result<LvmConf> conf = LvmConf::parse("f", "devices { a = 1 }");
  EXPECT_FALSE(set_lvm_value(*conf, "devices", "use_devicesfile", "0 a = 2"));
}

/// How many bytes of `before` an edit took away, its beginning and its end left in place.
std::size_t bytes_replaced(const std::string& before, const std::string& after) {
  const auto begin = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto end = std::mismatch(before.rbegin(), std::make_reverse_iterator(begin.first),
                                 after.rbegin(), std::make_reverse_iterator(begin.second));
  return static_cast<std::size_t>(end.first.base() - begin.first);
}

TEST(LvmEditorTest, ChangesOneValueAndNothingElse) {
  std::size_t edits = 0;
  for (const char* value : {"0", "1"})
    for (const std::string& text : lvm_corpus()) {
      Result<LvmConf> before = LvmConf::parse("f", text);
      Result<std::string> after = edited(text, value);
      EXPECT_TRUE(before || !after) << text;
      if (!after) continue;
      ++edits;
      Result<LvmConf> changed = LvmConf::parse("f", *after);
      ASSERT_TRUE(changed) << *after;
      EXPECT_EQ(changed->boolean(setting), value[0] == '1') << *after;
      EXPECT_EQ(edited(*after, value).value(), *after) << "a second edit changes something";
      const std::size_t replaced = bytes_replaced(text, *after);
      const auto places = before->places(setting).value();
      EXPECT_LE(replaced, places.empty() ? 0u : places.back().end - places.back().begin) << *after;
      EXPECT_TRUE(text == *after || differ_only_in(*before, *changed, setting)) << *after;
    }
  EXPECT_GE(edits, 140u);
}

TEST(LvmEditorTest, DifferencesBeyondTheSettingAreSeen) {
  const auto conf = [](const char* text) { return LvmConf::parse("f", text).value(); };
  EXPECT_TRUE(differ_only_in(conf("a=1"), conf("a=1 devices/x=0"), "devices/x"));
  EXPECT_FALSE(differ_only_in(conf("a=1"), conf("a=2 devices/x=0"), "devices/x"));
  EXPECT_FALSE(differ_only_in(conf("a=1"), conf("a=1"), "devices/x"));
  EXPECT_FALSE(differ_only_in(conf("devices/x=1 b=[1,2]"), conf("devices/x=0 b=[1]"), "devices/x"));
  EXPECT_FALSE(differ_only_in(conf("devices/x=1"), conf("devices {x=0 y{}}"), "devices/x"));
}

TEST(LvmEditorTest, ManySectionsDoNotMakeItSlow) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "devices { }\n";
  EXPECT_TRUE(edited(text));
}

}  // namespace
}  // namespace preflight
