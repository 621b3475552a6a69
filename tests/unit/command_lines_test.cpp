// SPDX-License-Identifier: MIT
#include "agent/facts/command_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace preflight {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> found(CommandLineSource source, const std::string& text) {
  std::vector<std::string> out;
  for (const CommandLineText& line : find_command_lines(source, "/f", text))
    out.push_back(std::to_string(line.line) + ":" + std::string(line.text()));
  return out;
}

using Lines = std::vector<std::string>;

TEST(CommandLines, OfAnEntryTheFirstOptionsCount) {
  EXPECT_EQ(found(CommandLineSource::entry, "title x\noptions ro quiet\noptions rw\n"),
            Lines{"2:ro quiet"});
  EXPECT_EQ(found(CommandLineSource::entry, "title x\nlinux /k\n"), Lines{});
}

TEST(CommandLines, OfTheKernelsCmdlineEveryLine) {
  EXPECT_EQ(found(CommandLineSource::kernel_cmdline, "# no\n\n ro\nquiet"),
            (Lines{"3: ro", "4:quiet"}));
}

TEST(CommandLines, OfDefaultGrubOnlyPlainWords) {
  EXPECT_EQ(found(CommandLineSource::default_grub,
                  "GRUB_CMDLINE_LINUX=\"a b\" # c\n GRUB_CMDLINE_LINUX_DEFAULT='$d'\n"
                  "GRUB_CMDLINE_LINUX=e;\nGRUB_CMDLINE_LINUX=\"$x\"\nGRUB_CMDLINE_LINUX=\"open\n"
                  "#GRUB_CMDLINE_LINUX=f\nGRUB_CMDLINE_LINUX_RECOVERY=g\nGRUB_CMDLINE_LINUX="),
            (Lines{"1:a b", "2:$d", "3:e", "8:"}));
}

TEST(CommandLines, OfGrubenvKernelopts) {
  EXPECT_EQ(found(CommandLineSource::grubenv, "# GRUB Environment Block\nkernelopts=ro\nx=y\n"),
            Lines{"2:ro"});
}

TEST(CommandLines, ShareOneCopyOfTheirFile) {
  std::string text;
  while (text.size() < (1u << 20)) text += "a\n";
  const auto lines = find_command_lines(CommandLineSource::kernel_cmdline, "/f", text);
  ASSERT_EQ(lines.size(), command_lines_cap + 1);
  EXPECT_EQ(lines.front().file.get(), lines.back().file.get());
}

TEST(CommandLines, TooManyAreAnErrorOfTheirFile) {
  std::string base = (fs::temp_directory_path() / "command-lines-XXXXXX").string();
  ASSERT_NE(::mkdtemp(base.data()), nullptr);
  fs::create_directories(base + "/etc/kernel");
  const auto lines_of = [&](std::size_t count) {
    std::ofstream file(base + "/etc/kernel/cmdline");
    for (std::size_t i = 0; i < count; ++i) file << "ro\n";
    file.close();
    const Guest guest{Root::open(base).value(), base, false, true, {}};
    return collect_command_lines(guest, BootMenu{});
  };
  EXPECT_EQ(lines_of(command_lines_cap).texts.size(), command_lines_cap);
  const CommandLines many = lines_of(command_lines_cap + 1);
  fs::remove_all(base);
  EXPECT_TRUE(many.texts.empty());
  ASSERT_EQ(many.errors.size(), 1u);
  EXPECT_EQ(many.errors[0].kind, ErrorKind::too_large);
}

}  // namespace
}  // namespace preflight
