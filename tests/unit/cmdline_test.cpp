// SPDX-License-Identifier: MIT
#include "agent/formats/cmdline.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

std::string shown(const std::string& text) {
  std::string out;
  for (const CmdlineWord& word : parse_cmdline(text))
    out += "[" + word.key + (word.value ? "|" + *word.value : "") + "]";
  return out;
}

TEST(Cmdline, SplitsAtBlanks) {
  EXPECT_EQ(shown("root=/dev/mapper/rl-root ro \t rd.lvm.lv=rl/root\n"),
            "[root|/dev/mapper/rl-root][ro][rd.lvm.lv|rl/root]");
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("   "), "");
}

TEST(Cmdline, QuotesProtectBlanks) {
  EXPECT_EQ(shown("a=\"x y\" b"), "[a|x y][b]");
  EXPECT_EQ(shown("\"a=x y\" b"), "[a|x y][b]");
  EXPECT_EQ(shown("dyndbg=\"file x +p; file y +p\""), "[dyndbg|file x +p; file y +p]");
  EXPECT_EQ(shown("a=x\" y\"z b"), "[a|x\" y\"z][b]");
  EXPECT_EQ(shown("\"quiet\" b"), "[quiet][b]");
}

TEST(Cmdline, AnUnclosedQuoteRunsToTheEnd) {
  EXPECT_EQ(shown("a=\"x y b=1"), "[a|x y b=1]");
}

TEST(Cmdline, TheFirstEqualsDivides) {
  EXPECT_EQ(shown("root=UUID=1234 x= =y"), "[root|UUID=1234][x|][=y]");
}

TEST(Cmdline, DoubleDashEndsTheKernelsPartAndNobodyElses) {
  EXPECT_EQ(shown("ro -- root=/dev/vda1 -- x"), "[ro][root|/dev/vda1][--][x]");
  EXPECT_EQ(shown("--x -- y"), "[--x][y]");
  const auto words = parse_cmdline("module_blacklist=a -- module_blacklist=nvme");
  ASSERT_EQ(kernel_words_of(words, "module_blacklist").size(), 1u);
  EXPECT_EQ(words_of(words, "module_blacklist").size(), 2u);
}

TEST(Cmdline, SpansCoverTheWordAsWritten) {
  const std::string text = "ro  a=\"x y\" \"b=c d\" root=/dev/vda3";
  const auto written = [&](std::string_view key) {
    const auto words = parse_cmdline(text);
    const CmdlineWord* word = first_word(words, key);
    return word ? text.substr(word->offset, word->length) : "none";
  };
  EXPECT_EQ(written("ro"), "ro");
  EXPECT_EQ(written("a"), "a=\"x y\"");
  EXPECT_EQ(written("b"), "\"b=c d\"");
  EXPECT_EQ(written("root"), "root=/dev/vda3");
  EXPECT_EQ(parse_cmdline(text).size(), 4u);
}

TEST(Cmdline, BytesThatAreNoText) {
  EXPECT_EQ(parse_cmdline(std::string("a=\xff\xfe b")).size(), 2u);
  EXPECT_EQ(parse_cmdline(std::string("a\0b", 3)).size(), 1u);
  EXPECT_EQ(parse_cmdline(std::string(1u << 20, 'x')).size(), 1u);
}

TEST(Cmdline, FirstAndLast) {
  const auto words = parse_cmdline("root=a quiet root=b rd.lvm.lv=x rd.lvm.lv=y");
  EXPECT_EQ(first_word(words, "root")->value, "a");
  EXPECT_EQ(last_word(words, "root")->value, "b");
  EXPECT_EQ(last_word(words, "none"), nullptr);
  EXPECT_EQ(words_of(words, "rd.lvm.lv").size(), 2u);
}

TEST(Cmdline, DashAndUnderscoreAreOneForTheKernelOnly) {
  const auto words = parse_cmdline("module-blacklist=nvme module_blacklist=x rd-driver=1");
  EXPECT_EQ(kernel_words_of(words, "module_blacklist").size(), 2u);
  EXPECT_EQ(words_of(words, "module_blacklist").size(), 1u);
}

}  // namespace
}  // namespace preflight
