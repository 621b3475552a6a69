// SPDX-License-Identifier: MIT
#include "agent/formats/grubenv.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>

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

/// What `grub-editenv FILE list` prints, or nullopt without that program.
std::optional<std::string> ask_editenv(const std::string& text) {
  const std::string path = testing::TempDir() + "/grubenv-test-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << text;
  const std::string command = "timeout 10 grub-editenv " + path + " list 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return std::nullopt;
  std::string out;
  std::array<char, 4096> bytes{};
  while (const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), pipe))
    out.append(bytes.data(), got);
  const int status = ::pclose(pipe);
  std::remove(path.c_str());
  if (status != 0) return std::nullopt;
  return out;
}

TEST(Grubenv, AgreesWithGrubEditenv) {
  if (!ask_editenv(block("a=1\n"))) GTEST_SKIP() << "no grub-editenv here: NOT compared with it";
  for (const std::string& text :
       {block("kernelopts=root=/dev/sda1 ro\nsaved_entry=abc-5.14\n"), block("a=x\\\\y\nc=3\n"),
        block("# WARNING: do not edit\n#a=1\nb=2\n"), head + "a=1\nb=2", head + "a=1\nword",
        head + "a=1\nb=2\\", block("\nsaved_entry=1\n"), block("=1\n"), block("a=\nb= x \n"),
        head + "a=1\n#\\\nb=2\nc=3\n", head + "x"}) {
    std::string ours;
    const auto env = parse_grubenv("/e", text).value();
    for (const auto& [name, variable] : env.variables) ours += name + "=" + variable.value + "\n";
    EXPECT_EQ(ours, ask_editenv(text)) << text;
  }
}

TEST(Grubenv, NothingWithoutTheSignature) {
  EXPECT_EQ(parse_grubenv("/e", "").error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_grubenv("/e", head).error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_grubenv("/e", "saved_entry=1\n").error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_grubenv("/e", std::string(1024, '\0')).error().kind, ErrorKind::malformed);
}

}  // namespace
}  // namespace preflight
