// SPDX-License-Identifier: MIT
#include "agent/facts/command_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/facts/facts.h"
#include "agent/facts/tables.h"
#include "checks/list.h"
#include "fixes/list.h"

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

TEST(CommandLines, OfGrubenvWhatGrubReads) {
  const std::string signature = "# GRUB Environment Block\n";
  const auto in = [&](const std::string& text) {
    return found(CommandLineSource::grubenv, signature + text);
  };
  EXPECT_EQ(in("kernelopts=ro\nx=y\n"), Lines{"2:ro"});
  EXPECT_EQ(in("kernelopts=ro\nkernelopts=rw\n####"), Lines{"3:rw"});
  EXPECT_EQ(in("x=y\nkernelopts=root=/dev/vda3 ####"), Lines{});
  EXPECT_EQ(in("nothing\n\nkernelopts=ro\n"), Lines{});
  EXPECT_EQ(in("kernelopts=a\\\nb\n"), Lines{"2:a\\\nb"});
  EXPECT_EQ(found(CommandLineSource::grubenv, "kernelopts=ro\n"), Lines{});
}

/// What cmdline-uuid makes of a grubenv; the error's text where it refuses.
std::string fixed_grubenv(const std::string& text) {
  Facts facts;
  facts.storage = parse_lsblk("lsblk", R"({"blockdevices":[{"name":"vda3","path":"/dev/vda3",
      "type":"part","uuid":"11111111-1111-4111-8111-111111111111"}]})");
  facts.command_lines.texts = find_command_lines(CommandLineSource::grubenv, "/grubenv", text);
  Finding finding;
  finding.check = "root.resolves";
  finding.remedy = Remedy{"cmdline", "", {}};
  for (const Fix& fix : all_fixes()) {
    if (fix.id != "cmdline") continue;
    const auto steps = fix.plan(facts, {finding});
    if (!steps) return steps.error().what;
    return steps->empty() ? text : std::get<EditFile>(steps->front()).after;
  }
  return "no such fix";
}

TEST(CommandLines, AnEditedGrubenvKeepsItsSizeAndItsOtherVariables) {
  const std::string signature = "# GRUB Environment Block\n";
  const std::string uuid = "root=UUID=11111111-1111-4111-8111-111111111111";
  const std::string padding(40, '#');
  EXPECT_EQ(fixed_grubenv(signature + "kernelopts=root=/dev/vda3\nx=y#\n" + padding),
            signature + "kernelopts=" + uuid + "\nx=y#\n" +
                padding.substr(uuid.size() - std::string("root=/dev/vda3").size()));
  EXPECT_EQ(fixed_grubenv(signature + "kernelopts=root=/dev/vda3\nx=y" + padding),
            "the last line of the environment block has no end");
  EXPECT_EQ(fixed_grubenv(signature + "kernelopts=root=/dev/vda3\n" + padding.substr(0, 8)),
            "the environment block has no room: 83 bytes of 59");
}

TEST(Tables, TooManyLinesAreAnError) {
  std::string base = (fs::temp_directory_path() / "tables-XXXXXX").string();
  ASSERT_NE(::mkdtemp(base.data()), nullptr);
  fs::create_directories(base + "/etc");
  std::ofstream file(base + "/etc/fstab");
  for (int i = 0; i < 2001; ++i) file << "/dev/vda2 / xfs\n";
  file.close();
  const Guest guest{Root::open(base).value(), base, false, true, {}};
  const auto table = collect_fstab(guest);
  fs::remove_all(base);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind, ErrorKind::too_large);
}

/// The subjects of what boot.device-names says about one command line.
std::vector<std::string> named(const std::string& options) {
  Facts facts;
  BootMenu menu;
  menu.entries.emplace_back();
  menu.entries[0].options = options;
  menu.entries[0].is_default = true;
  menu.default_index = 0;
  facts.boot = menu;
  std::vector<std::string> out;
  for (const Check& check : all_checks())
    if (check.id == "boot.device-names")
      for (const Finding& finding : check.run(facts))
        out.push_back(std::string(to_string(finding.status)));
  return out;
}

TEST(BootDeviceNames, WhatStopsTheBootIsNeverCrowdedOut) {
  std::string options;
  for (int i = 0; i < 5000; ++i) options += "x=/dev/vda1 ";
  const std::vector<std::string> found = named(options + "root=/dev/vda3");
  EXPECT_EQ(found.size(), 16u);
  EXPECT_EQ(found.front(), "fail");
  EXPECT_EQ(found.back(), "warn");
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
