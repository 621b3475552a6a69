// SPDX-License-Identifier: MIT
#include "agent/formats/grubenv.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

const std::string head = "# GRUB Environment Block\n";

std::string block(const std::string& lines) {
  std::string text = head + lines;
  text.resize(1024, '#');
  return text;
}

TEST(Grubenv, ReadsVariables) {
  const auto env =
      parse_grubenv("/e", block("saved_entry=abc-5.14\nkernelopts=root=/dev/sda1 ro\n")).value();
  EXPECT_EQ(env.value("saved_entry"), "abc-5.14");
  EXPECT_EQ(env.find("saved_entry")->line, 2);
  EXPECT_EQ(env.value("kernelopts"), "root=/dev/sda1 ro");
  EXPECT_EQ(env.find("kernelopts")->line, 3);
  EXPECT_EQ(env.find("none"), nullptr);
}

TEST(Grubenv, BackslashProtectsTheNextByte) {
  const auto env = parse_grubenv("/e", block("a=x\\\\y\nb=one\\\ntwo\nc=3\n")).value();
  EXPECT_EQ(env.value("a"), "x\\y");
  EXPECT_EQ(env.value("b"), "one\ntwo");
  EXPECT_EQ(env.value("c"), "3");
  EXPECT_EQ(env.find("c")->line, 5);
}

TEST(Grubenv, CommentLinesSetNothing) {
  const auto env = parse_grubenv("/e", block("# WARNING: do not edit\n#a=1\nb=2\n")).value();
  EXPECT_EQ(env.variables.size(), 1u);
  EXPECT_EQ(env.value("b"), "2");
}

TEST(Grubenv, TheLastOfEqualNamesWins) {
  EXPECT_EQ(parse_grubenv("/e", block("a=1\na=2\n"))->value("a"), "2");
}

TEST(Grubenv, AnySizeIsRead) {
  EXPECT_EQ(parse_grubenv("/e", head + "a=1\n")->value("a"), "1");
  EXPECT_EQ(parse_grubenv("/e", head + "a=1\n" + std::string(5000, '#'))->value("a"), "1");
}

TEST(Grubenv, ABrokenEndStopsTheReading) {
  EXPECT_EQ(parse_grubenv("/e", head + "a=1\nb=2")->variables.size(), 1u);
  EXPECT_EQ(parse_grubenv("/e", head + "a=1\nword")->variables.size(), 1u);
  EXPECT_EQ(parse_grubenv("/e", head + "a=1\nb=2\\")->variables.size(), 1u);
}

TEST(Grubenv, AnEmptyLineSpoilsTheNextName) {
  const auto env = parse_grubenv("/e", block("\nsaved_entry=1\n")).value();
  EXPECT_EQ(env.find("saved_entry"), nullptr);
}

TEST(Grubenv, NothingWithoutTheSignature) {
  EXPECT_EQ(parse_grubenv("/e", "").error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_grubenv("/e", head).error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_grubenv("/e", "saved_entry=1\n").error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_grubenv("/e", std::string(1024, '\0')).error().kind, ErrorKind::malformed);
}

}  // namespace
}  // namespace preflight
