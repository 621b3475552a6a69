// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/facts/lvm.h"
#include "tests/unit/lvm_corpus.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;

Result<Release> rocky(int major, int minor) {
  Release release;
  release.path = "/etc/os-release";
  release.id = "rocky";
  release.major = major;
  release.minor = minor;
  return release;
}

class LvmFactsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lvm-facts-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = base_ / path.substr(1);
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  LvmFacts collect(const Result<Release>& release = rocky(9, 5)) {
    const Guest guest{Root::open(base_.string()).value(), base_.string(), false, true, {}};
    return collect_lvm(guest, release);
  }

  fs::path base_;
};

TEST_F(LvmFactsTest, NoLvmIsNotInstalled) {
  const LvmFacts facts = collect();
  EXPECT_FALSE(facts.installed);
  EXPECT_EQ(facts.system_dir, "/etc/lvm");
}

TEST_F(LvmFactsTest, TheReleaseGivesTheDefault) {
  write("/etc/lvm/lvm.conf", el9_lvm_conf);
  EXPECT_EQ(collect(rocky(8, 10)).use_devicesfile, false);
  EXPECT_EQ(collect(rocky(9, 0)).use_devicesfile, true);
  EXPECT_EQ(collect(rocky(10, 1)).use_devicesfile, true);
  EXPECT_NE(collect().default_source.find("EL 9"), std::string::npos);
  Result<Release> debian = rocky(12, -1);
  debian->id = "debian";
  EXPECT_EQ(collect(debian).use_devicesfile.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(collect(fail(ErrorKind::missing, "", "")).use_devicesfile.error().kind,
            ErrorKind::unsupported);
  write("/etc/lvm/lvm.conf", "devices { use_devicesfile = 0 }");
  EXPECT_EQ(collect(debian).use_devicesfile, false);
}

TEST_F(LvmFactsTest, LvmlocalOverridesAndAQuotedNumberMeansTheDefault) {
  write("/etc/lvm/lvm.conf", "devices {\n\tuse_devicesfile = 0\n}\n");
  write("/etc/lvm/lvmlocal.conf", "\ndevices { use_devicesfile = \"0\" }\n");
  const LvmFacts facts = collect();
  EXPECT_EQ(facts.use_devicesfile, true);
  ASSERT_EQ(facts.use_devicesfile_settings.size(), 2u);
  EXPECT_EQ(facts.use_devicesfile_decider, 1u);
  EXPECT_FALSE(facts.use_devicesfile_settings[0].live);
  EXPECT_EQ(facts.use_devicesfile_settings[0].why_not,
            "overridden by /etc/lvm/lvmlocal.conf line 2");
  EXPECT_FALSE(facts.use_devicesfile_settings[1].live);
  EXPECT_EQ(facts.use_devicesfile_settings[1].text, "\"0\"");
}

TEST_F(LvmFactsTest, PlacesThatSetNothingAreKept) {
  write("/etc/lvm/lvm.conf",
        "global {\n use_devicesfile = 0\n}\nuse_devicesfile = 0\ndevices {\n"
        "\t# use_devicesfile = 0\n\tuse_devicesfile = 0\n\tuse_devicesfile = 1\n}\n");
  const LvmFacts facts = collect();
  EXPECT_EQ(facts.use_devicesfile, true);
  const auto& settings = facts.use_devicesfile_settings;
  ASSERT_EQ(settings.size(), 4u);
  EXPECT_EQ(settings[0].section, "global");
  EXPECT_NE(settings[0].why_not.find("\"global\""), std::string::npos);
  EXPECT_NE(settings[1].why_not.find("outside of any section"), std::string::npos);
  EXPECT_FALSE(settings[2].live);
  EXPECT_TRUE(settings[3].live);
  EXPECT_EQ(settings[3].line, 8);
  ASSERT_EQ(facts.use_devicesfile_comments.size(), 1u);
  EXPECT_EQ(facts.use_devicesfile_comments[0].line, 6);
  EXPECT_EQ(facts.notes.size(), 3u);
}

TEST_F(LvmFactsTest, WhatLvmCannotReadIsAnError) {
  write("/etc/lvm/lvm.conf", "devices {\n\tuse_devicesfile = 0\n");
  LvmFacts facts = collect();
  ASSERT_EQ(facts.errors.size(), 1u);
  EXPECT_EQ(facts.errors[0].kind, ErrorKind::malformed);
  EXPECT_FALSE(facts.use_devicesfile);
  write("/etc/lvm/lvm.conf", "devices { use_devicesfile = 0 }");
  write("/etc/lvm/lvmlocal.conf", "# nothing\n");
  facts = collect();
  ASSERT_EQ(facts.errors.size(), 1u);
  EXPECT_EQ(facts.errors[0].path, "/etc/lvm/lvmlocal.conf");
  EXPECT_FALSE(facts.use_devicesfile);
}

TEST_F(LvmFactsTest, ASectionNamedLikeTheSettingIsAnError) {
  write("/etc/lvm/lvm.conf", "devices { use_devicesfile { a = 1 } }");
  const LvmFacts facts = collect();
  EXPECT_EQ(facts.use_devicesfile.error().kind, ErrorKind::malformed);
  EXPECT_EQ(facts.errors.size(), 1u);
}

TEST_F(LvmFactsTest, AFifoOrADirectoryIsAnErrorAndDoesNotHang) {
  fs::create_directories(base_ / "etc/lvm/lvmlocal.conf");
  ASSERT_EQ(::mkfifo((base_ / "etc/lvm/lvm.conf").c_str(), 0600), 0);
  const LvmFacts facts = collect();
  EXPECT_TRUE(facts.installed);
  ASSERT_EQ(facts.errors.size(), 2u);
  EXPECT_EQ(facts.errors[0].kind, ErrorKind::wrong_type);
  EXPECT_FALSE(facts.use_devicesfile);
}

TEST_F(LvmFactsTest, HostTagsAddFilesInOrder) {
  write("/etc/hostname", "# set by hand\nweb1\n");
  write("/etc/lvm/lvm.conf",
        "tags { hosttags = 1 @cluster { } other { host_list = [ \"db1\" ] } }\n"
        "devices { use_devicesfile = 0 }");
  write("/etc/lvm/lvm_other.conf", "broken {");
  write("/etc/lvm/lvm_web1.conf", "tags { late {} }");
  write("/etc/lvm/lvm_late.conf", "devices { use_devicesfile = 1 }");
  const LvmFacts facts = collect();
  EXPECT_EQ(facts.tags, (std::vector<std::string>{"web1", "cluster", "late"}));
  ASSERT_EQ(facts.files.size(), 3u);
  EXPECT_EQ(facts.files.back().path, "/etc/lvm/lvm_late.conf");
  EXPECT_EQ(facts.use_devicesfile, true);
}

TEST_F(LvmFactsTest, ASectionForOtherHostsDoesNotCount) {
  write("/etc/lvm/lvm.conf", "devices { use_devicesfile = 0 tags = [ \"@db\" ] }\ntags { web {} }");
  LvmFacts facts = collect();
  EXPECT_EQ(facts.use_devicesfile, true);
  EXPECT_FALSE(facts.use_devicesfile_decider);
  EXPECT_FALSE(facts.use_devicesfile_settings.at(0).live);
  write("/etc/lvm/lvm.conf", "devices { use_devicesfile = 0 tags = [ \"@db\" ] }\ntags { db {} }");
  EXPECT_EQ(collect().use_devicesfile, false);
}

TEST_F(LvmFactsTest, UnknownHostNameIsUnknownWhereItMatters) {
  write("/etc/lvm/lvm.conf", "tags { hosttags = 1 }\ndevices { use_devicesfile = 0 }");
  EXPECT_EQ(collect().use_devicesfile, false);
  write("/etc/lvm/lvm_web1.conf", "devices { use_devicesfile = 1 }");
  EXPECT_EQ(collect().use_devicesfile.error().kind, ErrorKind::unsupported);
}

TEST_F(LvmFactsTest, DevicesFileIsFoundByItsName) {
  write("/etc/lvm/lvm.conf", "devices { devicesfile = \"mine\" }");
  EXPECT_EQ(collect().devices_file.error().kind, ErrorKind::missing);
  write("/etc/lvm/devices/mine", "IDTYPE=devname IDNAME=/dev/vda3 DEVNAME=/dev/vda3 PVID=x\n");
  const LvmFacts facts = collect();
  ASSERT_TRUE(facts.devices_file);
  EXPECT_EQ(facts.devices_file->path, "/etc/lvm/devices/mine");
  EXPECT_EQ(facts.devices_file->entries.size(), 1u);
  write("/etc/lvm/lvm.conf", "devices { devicesfile = \"../../shadow\" }");
  EXPECT_EQ(collect().devices_file.error().kind, ErrorKind::malformed);
}

TEST_F(LvmFactsTest, SearchForDevnamesDefaultsByVersion) {
  write("/etc/lvm/lvm.conf", "devices { dir = \"/dev\" }");
  EXPECT_FALSE(collect(rocky(9, 3)).search_for_devnames_all);
  EXPECT_TRUE(collect(rocky(9, 4)).search_for_devnames_all);
  write("/etc/lvm/lvm.conf", "devices { search_for_devnames = \"auto\" }");
  EXPECT_FALSE(collect(rocky(9, 5)).search_for_devnames_all);
  write("/etc/lvm/lvm.conf", "devices { search_for_devnames = \"all\" }");
  EXPECT_TRUE(collect(rocky(9, 2)).search_for_devnames_all);
}

TEST_F(LvmFactsTest, FiltersAreMergedLaterFileFirst) {
  write("/etc/lvm/lvm.conf",
        "devices { filter = [ \"a|1|\", \"r|2|\" ] global_filter = \"r|3|\" }");
  write("/etc/lvm/lvmlocal.conf", "devices { filter = \"a|4|\" global_filter = [ \"a|5|\" ] }");
  LvmFacts facts = collect();
  EXPECT_EQ(facts.filter, (std::vector<std::string>{"a|4|", "a|1|", "r|2|"}));
  EXPECT_EQ(facts.global_filter, (std::vector<std::string>{"a|5|"}));
  EXPECT_TRUE(facts.errors.empty());
  write("/etc/lvm/lvmlocal.conf", "\n\ndevices { filter = [ \"a|4\" ] }");
  facts = collect();
  ASSERT_EQ(facts.errors.size(), 1u);
  EXPECT_EQ(facts.errors[0].line, 3);
  EXPECT_TRUE(facts.use_devicesfile);
}

TEST_F(LvmFactsTest, VersionComesFromTheBestSource) {
  write("/etc/lvm/lvm.conf", "devices { dir = \"/dev\" }");
  EXPECT_EQ(collect(rocky(9, 2)).version->text, "2.03.17");
  EXPECT_EQ(collect(rocky(9, 99)).version.error().kind, ErrorKind::missing);
  EXPECT_EQ(collect(rocky(11, 0)).version.error().kind, ErrorKind::missing);
  write("/usr/sbin/lvm", std::string("\x7f"
                                     "ELF\0\0 1.02.195 (2023-11-21)\0",
                                     30) +
                             "2.03.23(2)-RHEL9 (2023-11-21)" + std::string(100, '\0'));
  LvmFacts facts = collect(rocky(9, 2));
  EXPECT_EQ(facts.version->number, (std::array<int, 3>{2, 3, 23}));
  EXPECT_EQ(facts.version->source, "/usr/sbin/lvm");
  write("/usr/share/doc/lvm2/VERSION", "2.03.24(2)-RHEL9 (2024-05-16)\n");
  facts = collect(rocky(9, 2));
  EXPECT_EQ(facts.version->text, "2.03.24(2)-RHEL9 (2024-05-16)");
  EXPECT_EQ(facts.version->number, (std::array<int, 3>{2, 3, 24}));
}

TEST(LvmVersionTest, IsFoundInWhatLvmPrintsAndNowhereElse) {
  EXPECT_EQ(find_lvm_version("  LVM version:     2.03.16(2) (2022-05-18)\n")->text,
            "2.03.16(2) (2022-05-18)");
  for (const char* text : {"", "2.", "2.03", "2.03.16", "12.03.16(2)", "1.02.185 (2022-05-18)",
                           "2.03.16()", "2.03.16(2", "2.x.16(2)", "1.2.03.4(2)"})
    EXPECT_FALSE(find_lvm_version(text)) << text;
  std::ifstream binary("/usr/sbin/lvm", std::ios::binary);
  if (!binary) GTEST_SKIP() << "no lvm2 here: its binary is NOT SEARCHED";
  const std::string bytes{std::istreambuf_iterator<char>(binary), {}};
  EXPECT_EQ(find_lvm_version(bytes)->number[0], 2);
}

TEST(LvmVersionTest, LiveLvmIsAsked) {
  if (::access("/usr/sbin/lvm", X_OK) != 0) GTEST_SKIP() << "no lvm2 here: NOT ASKED";
  const Guest guest{Root::open("/").value(), "/", true, true, {}};
  const LvmFacts facts = collect_lvm(guest, fail(ErrorKind::missing, "", ""));
  EXPECT_TRUE(facts.installed);
  ASSERT_TRUE(facts.version);
  EXPECT_EQ(facts.version->source, "lvm version");
  EXPECT_EQ(facts.default_source, "lvmconfig --typeconfig default");
}

TEST(LvmconfigOutputTest, BooleansOfBothKindsAreRead) {
  EXPECT_EQ(parse_lvmconfig_boolean("# use_devicesfile=0\n", "use_devicesfile"), false);
  EXPECT_EQ(parse_lvmconfig_boolean("use_devicesfile=1\n", "use_devicesfile"), true);
  EXPECT_EQ(parse_lvmconfig_boolean("noise\nuse_devicesfile=\"yes\"\n", "use_devicesfile"), true);
  for (const char* text : {"", "use_devicesfile=\"1\"", "use_devicesfile", "use_devicesfile_x=1"})
    EXPECT_EQ(parse_lvmconfig_boolean(text, "use_devicesfile"), std::nullopt) << text;
}

}  // namespace
}  // namespace preflight
