// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"
#include "agent/formats/lvm_conf_edit.h"
#include "agent/step.h"
#include "tests/unit/lvm_corpus.h"

namespace preflight {

extern const Check lvm_config_check;
extern const Check lvm_devicesfile_check;
extern const Fix lvm_devicesfile_fix;

namespace {

using testing::HasSubstr;

constexpr const char* pvid = "abcdefghijklmnopqrstuvwxyzABCDEF";
constexpr const char* pv_uuid = "abcdef-ghij-klmn-opqr-stuv-wxyz-ABCDEF";
constexpr const char* file_path = "/etc/lvm/devices/system.devices";

/// vda with vda3 as PV of the root VG.
Storage one_disk() {
  Storage storage;
  storage.devices.resize(3);
  storage.devices[0].name = "vda";
  storage.devices[0].path = "/dev/vda";
  storage.devices[1].name = "vda3";
  storage.devices[1].path = "/dev/vda3";
  storage.devices[1].fstype = "LVM2_member";
  storage.devices[1].uuid = pv_uuid;
  storage.devices[1].parents = {0};
  storage.devices[2].name = "dm-0";
  storage.devices[2].path = "/dev/mapper/rl-root";
  storage.devices[2].fstype = "xfs";
  storage.devices[2].mounts = {"/"};
  storage.devices[2].parents = {1};
  return storage;
}

/// An EL 9.5 guest with these texts; nullptr: no such file.
Facts guest(const char* conf, const char* local = nullptr, const char* devices = nullptr) {
  Facts facts;
  LvmFacts& lvm = facts.lvm;
  lvm.installed = true;
  lvm.system_dir = "/etc/lvm";
  if (conf != nullptr) lvm.files.push_back({"/etc/lvm/lvm.conf", conf});
  if (local != nullptr) lvm.files.push_back({"/etc/lvm/lvmlocal.conf", local});
  lvm.version = LvmVersion{{2, 3, 24}, "2.03.24", "test"};
  lvm.use_devicesfile_default = true;
  lvm.default_source = "how EL 9 builds LVM";
  facts.lvm = merge_lvm(lvm);
  facts.lvm.devices_file = devices == nullptr
                               ? fail(ErrorKind::missing, file_path, "")
                               : Result<DevicesFile>(parse_devices_file(file_path, devices));
  facts.storage = one_disk();
  return facts;
}

std::string entry(const std::string& idtype, const std::string& idname,
                  const std::string& id = pvid) {
  return "IDTYPE=" + idtype + " IDNAME=" + idname + " DEVNAME=/dev/vda3 PVID=" + id + "\n";
}

const std::string by_serial = entry("sys_serial", "BHYVE-1234-5678-9ABC");

Finding judged(const Facts& facts) {
  const std::vector<Finding> findings = lvm_devicesfile_check.run(facts);
  EXPECT_EQ(findings.size(), 1u);
  return findings.at(0);
}

Result<std::vector<Step>> planned(const Facts& facts) {
  return lvm_devicesfile_fix.plan(facts, lvm_devicesfile_check.run(facts));
}

EditFile edit_of(const Facts& facts) {
  const auto steps = planned(facts);
  EXPECT_TRUE(steps) << steps.error().message();
  EXPECT_EQ(steps->size(), 1u);
  return std::get<EditFile>(steps->at(0));
}

std::string evidence(const Finding& finding) {
  std::string out;
  for (const Evidence& item : finding.evidence)
    out +=
        item.path + ":" + std::to_string(item.line) + ": " + item.saw + " -> " + item.want + "\n";
  return out;
}

TEST(LvmDevicesfileTest, OffPasses) {
  const Finding finding =
      judged(guest("devices {\n\tuse_devicesfile = 0\n}\n", nullptr, by_serial.c_str()));
  EXPECT_EQ(finding.status, Status::pass);
  EXPECT_FALSE(finding.remedy);
  EXPECT_EQ(evidence(finding), "/etc/lvm/lvm.conf:2: 0 -> \n");
}

TEST(LvmDevicesfileTest, ALiveOneFailsAndOneValueIsChanged) {
  const Facts facts = guest("devices {\n\tuse_devicesfile = 1\n}\n", nullptr, by_serial.c_str());
  const Finding finding = judged(facts);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.subject, "/etc/lvm/lvm.conf");
  EXPECT_EQ(finding.remedy->fix, "lvm-devicesfile");
  EXPECT_THAT(evidence(finding), HasSubstr("/etc/lvm/lvm.conf:2: 1 -> 0\n"));
  EXPECT_THAT(evidence(finding), HasSubstr("system.devices:1: IDTYPE=sys_serial"));
  const EditFile edit = edit_of(facts);
  EXPECT_EQ(edit.path, "/etc/lvm/lvm.conf");
  EXPECT_EQ(edit.before, "devices {\n\tuse_devicesfile = 1\n}\n");
  EXPECT_EQ(edit.after, "devices {\n\tuse_devicesfile = 0\n}\n");
}

TEST(LvmDevicesfileTest, ACommentIsNoSetting) {
  for (const char* comment : {"#use_devicesfile=1", "\t# use_devicesfile = 0"}) {
    const std::string conf = std::string("devices {\n") + comment + "\n}\n";
    const Facts facts = guest(conf.c_str(), nullptr, by_serial.c_str());
    const Finding finding = judged(facts);
    EXPECT_EQ(finding.status, Status::fail);
    EXPECT_THAT(evidence(finding), HasSubstr("the default of this build is 1"));
    EXPECT_THAT(evidence(finding), HasSubstr("lvm.conf:2: \"#"));
    EXPECT_THAT(evidence(finding), HasSubstr("is a comment and sets nothing"));
    const EditFile edit = edit_of(facts);
    EXPECT_THAT(edit.after, HasSubstr(std::string(comment) + "\n"));
    EXPECT_THAT(edit.after, HasSubstr("use_devicesfile = 0\n}"));
  }
}

TEST(LvmDevicesfileTest, TheWrongSectionIsNamed) {
  const Facts facts = guest("global {\n\tuse_devicesfile = 0\n}\ndevices {\n\tdir = \"/dev\"\n}\n",
                            nullptr, by_serial.c_str());
  const Finding finding = judged(facts);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(evidence(finding), HasSubstr("lvm.conf:2: use_devicesfile = 0 has no effect: it "
                                           "stands in section \"global\""));
  EXPECT_THAT(edit_of(facts).after, HasSubstr("devices {\n\tuse_devicesfile = 0\n\tdir"));
}

TEST(LvmDevicesfileTest, TheFileThatDecidesIsEdited) {
  const Facts facts = guest("devices { use_devicesfile = 0 }", "devices { use_devicesfile = 1 }\n",
                            by_serial.c_str());
  const Finding finding = judged(facts);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.subject, "/etc/lvm/lvmlocal.conf");
  const EditFile edit = edit_of(facts);
  EXPECT_EQ(edit.path, "/etc/lvm/lvmlocal.conf");
  EXPECT_EQ(edit.after, "devices { use_devicesfile = 0 }\n");
}

TEST(LvmDevicesfileTest, AQuotedZeroIsTheDefault) {
  const Facts facts =
      guest("devices {\n\tuse_devicesfile = \"0\"\n}\n", nullptr, by_serial.c_str());
  const Finding finding = judged(facts);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(evidence(finding), HasSubstr("lvm.conf:2: \"0\" -> 0"));
  EXPECT_EQ(edit_of(facts).after, "devices {\n\tuse_devicesfile = 0\n}\n");
}

TEST(LvmDevicesfileTest, AQuotedZeroInLvmlocalHidesAZeroInLvmConf) {
  const Facts facts = guest("devices { use_devicesfile = 0 }",
                            "devices { use_devicesfile = \"0\" }", by_serial.c_str());
  EXPECT_EQ(judged(facts).status, Status::fail);
  EXPECT_EQ(edit_of(facts).path, "/etc/lvm/lvmlocal.conf");
}

TEST(LvmDevicesfileTest, NoFileOrAnEmptyOne) {
  EXPECT_EQ(judged(guest("devices/use_devicesfile=1")).status, Status::warn);
  const Facts empty = guest("devices/use_devicesfile=1", nullptr, "# nothing\nVERSION=1.1.1\n");
  EXPECT_EQ(judged(empty).status, Status::fail);
  Facts denied = guest("devices/use_devicesfile=1");
  denied.lvm.devices_file = fail(ErrorKind::denied, file_path, "cannot open");
  EXPECT_EQ(judged(denied).status, Status::unknown);
  EXPECT_FALSE(judged(denied).remedy);
}

TEST(LvmDevicesfileTest, NamesDependOnTheVersion) {
  const std::string by_name = entry("devname", "/dev/vda3");
  Facts facts = guest("devices/use_devicesfile=1", nullptr, by_name.c_str());
  const auto with = [&](Result<LvmVersion> version) {
    facts.lvm.version = std::move(version);
    const auto file = facts.lvm.devices_file;
    facts.lvm = merge_lvm(facts.lvm);
    return judged(facts).status;
  };
  EXPECT_EQ(with(LvmVersion{{2, 3, 23}, "", ""}), Status::warn);
  EXPECT_EQ(with(LvmVersion{{2, 3, 22}, "", ""}), Status::fail);
  EXPECT_EQ(with(fail(ErrorKind::missing, "", "")), Status::unknown);
  facts.lvm.files[0].text = "devices { use_devicesfile=1 search_for_devnames = \"all\" }";
  EXPECT_EQ(with(LvmVersion{{2, 3, 17}, "", ""}), Status::warn);
  EXPECT_EQ(with(fail(ErrorKind::missing, "", "")), Status::warn);
  facts.lvm.files[0].text = "devices { use_devicesfile=1 search_for_devnames = \"none\" }";
  EXPECT_EQ(with(LvmVersion{{2, 3, 32}, "", ""}), Status::fail);
}

TEST(LvmDevicesfileTest, WhatLiesAboveTheDiskSurvives) {
  for (const char* type : {"crypt_uuid", "md_uuid", "lvmlv_uuid", "mpath_uuid", "loop_file"})
    EXPECT_EQ(judged(guest("devices/use_devicesfile=1", nullptr, entry(type, "x").c_str())).status,
              Status::pass);
  for (const char* type : {"sys_wwid", "wwid_naa", "wwid_t10", "nvme_eui64", "nonsense"})
    EXPECT_EQ(judged(guest("devices/use_devicesfile=1", nullptr, entry(type, "x").c_str())).status,
              Status::fail);
}

TEST(LvmDevicesfileTest, OnlyTheEntriesOfTheDisksCount) {
  const std::string other =
      "IDTYPE=sys_wwid IDNAME=naa.5 DEVNAME=/dev/sdb PVID=" + std::string(32, 'x') + "\n";
  const std::string good = entry("crypt_uuid", "CRYPT-1");
  EXPECT_EQ(judged(guest("devices/use_devicesfile=1", nullptr, (other + good).c_str())).status,
            Status::pass);
  const Finding none = judged(guest("devices/use_devicesfile=1", nullptr, other.c_str()));
  EXPECT_EQ(none.status, Status::fail);
  EXPECT_THAT(evidence(none), HasSubstr("no entry for the PV on /dev/vda3"));
  // Of several entries for one PV the one that matches is enough.
  EXPECT_EQ(judged(guest("devices/use_devicesfile=1", nullptr, (by_serial + good).c_str())).status,
            Status::pass);
  // Without its PVID an entry is the PV's by its name.
  EXPECT_EQ(judged(guest("devices/use_devicesfile=1", nullptr,
                         entry("devname", "/dev/vda3", ".").c_str()))
                .status,
            Status::warn);
  Facts blind = guest("devices/use_devicesfile=1", nullptr, (other + good).c_str());
  blind.storage = fail(ErrorKind::missing, "", "no disks");
  EXPECT_EQ(judged(blind).status, Status::fail);
}

TEST(LvmDevicesfileTest, EveryPvOnAVirtioDiskCounts) {
  Facts facts = guest("devices/use_devicesfile=1", nullptr, entry("crypt_uuid", "x").c_str());
  BlockDevice data;
  data.name = "vdb";
  data.path = "/dev/vdb";
  data.fstype = "LVM2_member";
  data.uuid = "zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzzzzz";
  facts.storage->devices.push_back(data);
  EXPECT_EQ(judged(facts).status, Status::fail);
  facts.storage->devices.back().name = "sdb";
  EXPECT_EQ(judged(facts).status, Status::pass);
  facts.storage->devices.back().name = "vdb";
  facts.storage->devices.back().fstype.clear();
  facts.storage->devices.back().probe_error =
      Error{ErrorKind::denied, "/dev/vdb", 0, "cannot open"};
  EXPECT_EQ(judged(facts).status, Status::unknown);
}

TEST(LvmDevicesfileTest, NothingToJudgeIsSkipped) {
  Facts facts = guest("devices/use_devicesfile=1", nullptr, by_serial.c_str());
  facts.storage->devices[0].name = "sda";
  facts.storage->devices[1].name = "sda3";
  EXPECT_EQ(judged(facts).status, Status::skip);
  Facts none;
  EXPECT_EQ(judged(none).status, Status::skip);
}

TEST(LvmDevicesfileTest, WhatCannotBeReadIsUnknown) {
  const Facts broken = guest("devices {", nullptr, by_serial.c_str());
  EXPECT_EQ(judged(broken).status, Status::unknown);
  EXPECT_FALSE(planned(broken));
  Facts undefined = guest("a = 1", nullptr, by_serial.c_str());
  undefined.lvm.default_source.clear();
  undefined.lvm = merge_lvm(undefined.lvm);
  EXPECT_EQ(judged(undefined).status, Status::unknown);
}

TEST(LvmDevicesfileFixTest, AMissingOrEmptyConfigurationIsWritten) {
  const std::string wanted = "devices {\n\tuse_devicesfile = 0\n}\n";
  const EditFile created = edit_of(guest(nullptr, nullptr, by_serial.c_str()));
  EXPECT_EQ(created.path, "/etc/lvm/lvm.conf");
  EXPECT_FALSE(created.before);
  EXPECT_EQ(created.mode, 0644u);
  EXPECT_EQ(created.after, wanted);
  const EditFile filled = edit_of(guest("", nullptr, by_serial.c_str()));
  EXPECT_EQ(filled.before, "");
  EXPECT_EQ(filled.after, wanted);
  EXPECT_EQ(edit_of(guest(nullptr, "local { system_id = \"x\" }", by_serial.c_str())).path,
            "/etc/lvm/lvm.conf");
}

TEST(LvmDevicesfileFixTest, RefusesASectionForOtherHosts) {
  EXPECT_FALSE(planned(
      guest("devices { tags = [ \"x\" ] use_devicesfile = 0 }", nullptr, by_serial.c_str())));
}

TEST(LvmDevicesfileFixTest, NothingToDoMakesNoSteps) {
  EXPECT_TRUE(lvm_devicesfile_fix.plan(guest("devices/use_devicesfile=1"), {})->empty());
  const Facts off = guest("devices/use_devicesfile=0");
  EXPECT_TRUE(lvm_devicesfile_fix.plan(off, {judged(off)})->empty());
}

TEST(LvmDevicesfileFixTest, EveryOddTextIsMendedOnceOrRefused) {
  int mended = 0;
  for (const std::string& text : lvm_corpus()) {
    Facts facts = guest("");
    facts.lvm.files = {{"/etc/lvm/lvm.conf", text}};
    facts.lvm = merge_lvm(facts.lvm);
    facts.lvm.devices_file = parse_devices_file(file_path, by_serial);
    if (judged(facts).status != Status::fail) continue;
    const auto steps = planned(facts);
    if (!steps) continue;
    ++mended;
    facts.lvm.files[0].text = std::get<EditFile>(steps->at(0)).after;
    facts.lvm = merge_lvm(facts.lvm);
    EXPECT_EQ(judged(facts).status, Status::pass) << facts.lvm.files[0].text;
    EXPECT_TRUE(planned(facts)->empty());
  }
  EXPECT_GE(mended, 50);
}

TEST(LvmConfigTest, JudgesTheFiles) {
  const auto run = [](const Facts& facts) { return lvm_config_check.run(facts); };
  EXPECT_EQ(run(Facts{}).at(0).status, Status::skip);
  EXPECT_EQ(run(guest(el9_lvm_conf)).at(0).status, Status::pass);
  EXPECT_EQ(run(guest(nullptr)).at(0).status, Status::pass);

  const auto broken = run(guest("devices {\n dir = \n}\n", "local { a = 1 }"));
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0].status, Status::fail);
  EXPECT_EQ(broken[0].subject, "/etc/lvm/lvm.conf");
  EXPECT_EQ(broken[0].evidence.at(0).line, 3);
  EXPECT_THAT(broken[0].evidence.at(0).saw, HasSubstr("Parse error"));

  EXPECT_EQ(run(guest("# nothing\n")).at(0).status, Status::fail);
  EXPECT_EQ(run(guest("devices { filter = [ 1 ] }")).at(0).status, Status::fail);
  EXPECT_EQ(run(guest("devices { filter = \"x|.*|\" }")).at(0).status, Status::fail);

  const auto odd = run(guest("devices { filter = \"a|1|\" }\ndevices { filter = \"a|2|\" }\n",
                             "local {\n use_devicesfile = 0\n}\n"));
  ASSERT_EQ(odd.size(), 2u);
  EXPECT_EQ(odd[0].status, Status::warn);
  EXPECT_EQ(odd[0].evidence.at(0).line, 2);
  EXPECT_EQ(odd[1].status, Status::warn);
  EXPECT_EQ(odd[1].subject, "/etc/lvm/lvmlocal.conf");

  Facts denied = guest("a = 1");
  denied.lvm.read_errors = {{ErrorKind::denied, "/etc/lvm/lvmlocal.conf", 0, "cannot open"}};
  denied.lvm = merge_lvm(denied.lvm);
  EXPECT_EQ(run(denied).at(0).status, Status::unknown);
}

}  // namespace
}  // namespace preflight
