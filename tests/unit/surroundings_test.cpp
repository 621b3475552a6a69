// SPDX-License-Identifier: MIT
#include "agent/facts/surroundings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "agent/facts/facts.h"
#include "checks/list.h"

namespace preflight {
namespace {

std::size_t hits(const std::string& text) {
  return find_controller_names("f", text).size();
}

TEST(ControllerNamesTest, FindsEveryForm) {
  for (const char* line :
       {"What=/dev/vda3", "(hd0) /dev/vda", "KERNEL==\"vda\", ATTR{x}=\"1\"", "KERNEL==\"vd*\"",
        "KERNEL==\"sd*|vd*\"", "KERNEL==\"vd[a-z]\"", "Requires=dev-vda3.device",
        "/dev/disk/by-id/virtio-X -a", "/dev/disk/by-path/pci-0000:00:04.0 x",
        "After=dev-disk-by\\x2did-virtio\\x2dX.device"})
    EXPECT_EQ(hits(std::string(line) + "\n"), 1u) << line;
}

TEST(ControllerNamesTest, LeavesOtherWordsAlone) {
  for (const char* line : {"# /dev/vda3", "; /dev/vda", "httpd and vdso", "/dev/vd",
                           "\"vdo\" is a target type", "/dev/nvme0n1", "hostname=vda"})
    EXPECT_EQ(hits(std::string(line) + "\n"),
              line == std::string("\"vdo\" is a target type") ? 1u : 0u)
        << line;
}

TEST(ControllerNamesTest, GivesTheNameAndNothingElseOfItsLine) {
  const auto found = find_controller_names(
      "/etc/x",
      "a\nb\nWhat=/dev/vda3\n"
      "ExecStart=/bin/backup --password=secret /dev/disk/by-id/virtio-x --to=elsewhere\n"
      "SUBSYSTEM==\"block\", KERNEL==\"vd*\", ATTR{x}=\"secret\"\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].name, "/dev/vda3");
  EXPECT_EQ(found[1].name, "/dev/disk/by-id/virtio-x");
  EXPECT_EQ(found[2].name, "\"vd*\"");
}

TEST(FindMultipathsTest, ReadsTheValueAndTheBlacklist) {
  EXPECT_EQ(read_find_multipaths("defaults {\n\tfind_multipaths greedy\n}\n").value, "greedy");
  EXPECT_EQ(read_find_multipaths("defaults {\n\t# find_multipaths no\n}\n").value, "");
  EXPECT_EQ(read_find_multipaths("defaults { find_multipaths \"no\" }\n").value, "no");
  EXPECT_TRUE(read_find_multipaths("blacklist {\n devnode \"^nvme\"\n}\n").nvme_blacklisted);
  EXPECT_FALSE(read_find_multipaths("blacklist {\n devnode \"^sd\"\n}\ndevices {\n nvme\n}\n")
                   .nvme_blacklisted);
}

std::string status_of(std::string_view id, const Facts& facts) {
  for (const Check& check : all_checks())
    if (check.id == id) return std::string(to_string(check.run(facts).at(0).status));
  return "no such check";
}

TEST(SurroundingsTest, WhatCannotBeReadDoesNotPass) {
  std::string base = (std::filesystem::temp_directory_path() / "surroundings-XXXXXX").string();
  ASSERT_NE(::mkdtemp(base.data()), nullptr);
  const auto collected = [&] {
    Facts facts;
    const Guest guest{Root::open(base).value(), base, false, true, {}};
    facts.surroundings = collect_surroundings(guest);
    return facts;
  };
  std::filesystem::create_symlink("etc", base + "/etc");
  EXPECT_EQ(status_of("names.elsewhere", collected()), "warn");
  EXPECT_EQ(status_of("multipath.claims", collected()), "warn");
  std::filesystem::remove(base + "/etc");
  std::filesystem::create_directories(base + "/etc");
  EXPECT_EQ(status_of("names.elsewhere", collected()), "pass");
  EXPECT_EQ(status_of("multipath.claims", collected()), "skip");
  ASSERT_EQ(::mkfifo((base + "/etc/multipath.conf").c_str(), 0600), 0);
  EXPECT_EQ(status_of("multipath.claims", collected()), "warn");
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace preflight
