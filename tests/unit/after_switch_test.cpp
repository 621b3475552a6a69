// SPDX-License-Identifier: MIT
// What --verify looks at once the disk is NVMe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "agent/check.h"
#include "agent/engine.h"
#include "agent/facts/running.h"
#include "agent/formats/devices_file.h"
#include "agent/step.h"
#include "checks/list.h"

namespace preflight {

extern const Check after_root_disk_check;
extern const Check after_mounts_check;
extern const Check after_volume_group_check;
extern const Check after_failed_units_check;
extern const Check after_devices_file_check;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BlockDevice device(std::string name, std::vector<std::size_t> parents = {},
                   std::vector<std::string> mounts = {}) {
  BlockDevice out;
  out.name = name;
  out.path = "/dev/" + name;
  out.parents = std::move(parents);
  out.mounts = std::move(mounts);
  out.type = out.parents.empty() ? "disk" : "part";
  return out;
}

Facts switched() {
  Facts facts;
  Storage storage;
  storage.source = "live";
  BlockDevice disk = device("nvme0n1");
  disk.transport = "nvme";
  BlockDevice root = device("dm-0", {1}, {"/"}), swap = device("dm-1", {1}, {"[SWAP]"});
  root.dm_name = "my--vg-root", root.path = "/dev/mapper/my--vg-root", root.type = "lvm";
  swap.dm_name = "my--vg-swap", swap.path = "/dev/mapper/my--vg-swap", swap.type = "lvm";
  root.dm_uuid = swap.dm_uuid = "LVM-" + std::string(64, 'a');
  storage.devices = {disk, device("nvme0n1p3", {0}), root, swap};
  facts.storage = std::move(storage);
  facts.fstab = parse_fstab("/etc/fstab",
                            "/dev/mapper/my--vg-root / xfs defaults 0 0\n"
                            "/dev/mapper/my--vg-swap none swap defaults 0 0\n"
                            "/swapfile none swap defaults 0 0\n"
                            "UUID=1 /data/ xfs nofail 0 0\n"
                            "tmpfs /tmp tmpfs defaults 0 0\n"
                            "UUID=2 /later xfs noauto 0 0\n"
                            "UUID=3 /auto xfs x-systemd.automount 0 0\n");
  facts.running.mounts = std::vector<Mount>{{"", "/", "/", "xfs", "/dev/mapper/my--vg-root"},
                                            {"", "/", "/data", "xfs", "/dev/nvme0n1p4"},
                                            {"", "/", "/tmp", "tmpfs", "tmpfs"}};
  facts.running.swaps = std::vector<std::string>{"/dev/dm-1", "/swapfile"};
  facts.running.pvs = std::vector<VisiblePv>{{"/dev/nvme0n1p3", "my-vg"}, {"/dev/nvme0n2", ""}};
  facts.running.failed_units = std::vector<std::string>{};
  return facts;
}

std::vector<Status> statuses(const Check& check, const Facts& facts) {
  std::vector<Status> out;
  for (const Finding& finding : check.run(facts)) out.push_back(finding.status);
  return out;
}

TEST(AfterSwitch, AllAsPromised) {
  const Facts facts = switched();
  EXPECT_THAT(statuses(after_root_disk_check, facts), ElementsAre(Status::pass));
  EXPECT_THAT(statuses(after_mounts_check, facts),
              ElementsAre(Status::pass, Status::pass, Status::pass, Status::pass, Status::pass));
  EXPECT_THAT(statuses(after_volume_group_check, facts), ElementsAre(Status::pass));
  EXPECT_THAT(statuses(after_failed_units_check, facts), ElementsAre(Status::pass));
}

TEST(AfterSwitch, StillOnTheOldController) {
  Facts facts = switched();
  facts.storage->devices[0].name = "vda";
  facts.storage->devices[0].transport = "virtio";
  EXPECT_THAT(statuses(after_root_disk_check, facts), ElementsAre(Status::fail));
  facts.storage->devices[2].mounts.clear();
  EXPECT_THAT(statuses(after_root_disk_check, facts), ElementsAre(Status::unknown));
  facts.storage = fail(ErrorKind::missing, "", "no disks");
  EXPECT_THAT(statuses(after_root_disk_check, facts), ElementsAre(Status::unknown));
}

TEST(AfterSwitch, WhatIsNotUpIsNamedByLine) {
  Facts facts = switched();
  facts.running.mounts->erase(facts.running.mounts->begin() + 1, facts.running.mounts->end());
  facts.storage->devices[3].mounts.clear();
  facts.running.swaps->clear();
  const std::vector<Finding> findings = after_mounts_check.run(facts);
  ASSERT_EQ(findings.size(), 5u);
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::fail);
  EXPECT_EQ(findings[1].subject, "/etc/fstab:2");
  EXPECT_EQ(findings[2].status, Status::fail);
  EXPECT_EQ(findings[3].status, Status::warn) << "nofail";
  EXPECT_EQ(findings[4].status, Status::fail);
}

TEST(AfterSwitch, WhatCouldNotBeAskedIsUnknown) {
  Facts facts = switched();
  facts.running = Running{};
  EXPECT_THAT(statuses(after_mounts_check, facts), testing::Each(Status::unknown));
  EXPECT_THAT(statuses(after_volume_group_check, facts), ElementsAre(Status::unknown));
  EXPECT_THAT(statuses(after_failed_units_check, facts), ElementsAre(Status::unknown));
}

TEST(AfterSwitch, AVolumeGroupThatLvmDoesNotSee) {
  Facts facts = switched();
  facts.running.pvs = std::vector<VisiblePv>{{"/dev/nvme0n1p3", "my"}};
  EXPECT_THAT(statuses(after_volume_group_check, facts), ElementsAre(Status::fail));
  facts.storage->devices[2].parents = {0};
  facts.storage->devices[2].dm_uuid = "CRYPT-LUKS2-x";
  facts.storage->devices[2].type = "crypt";
  EXPECT_THAT(statuses(after_volume_group_check, facts), ElementsAre(Status::skip));
}

TEST(AfterSwitch, FailedUnits) {
  Facts facts = switched();
  facts.running.failed_units =
      std::vector<std::string>{"dev-vda3.device", "home.mount", "systemd-fsck@dev-vdb1.service",
                               "nginx.service", "smartd@dev-vda.service"};
  EXPECT_THAT(statuses(after_failed_units_check, facts),
              ElementsAre(Status::fail, Status::fail, Status::fail, Status::warn, Status::fail));
}

TEST(AfterSwitch, TheNextBootIsLookedAtAsWell) {
  std::vector<std::string_view> ids;
  for (const Check& check : after_switch_checks()) ids.push_back(check.id);
  EXPECT_THAT(ids, testing::IsSupersetOf({"initramfs.driver", "boot.default-entry"}));
  EXPECT_EQ(unknown_check({{"after.mounts", "initramfs.driver"}, {}}), "");
  EXPECT_EQ(unknown_check({{"after.nothing"}, {}}), "after.nothing");
}

constexpr const char* lvm_conf = "/etc/lvm/lvm.conf";
constexpr const char* off_by_fix = "devices {\n\tuse_devicesfile = 0\n}\n";
constexpr const char* as_it_was = "devices {\n\tuse_devicesfile = 1\n}\n";
constexpr const char* proposal =
    "VERSION=1.1.1\nIDTYPE=sys_wwid IDNAME=nvme.1b36 DEVNAME=/dev/nvme0n1p3 "
    "PVID=abcdefghijklmnopqrstuvwxyzABCDEF PART=3\n";

/// Switched, and the devices file still off, as --fix left it.
Facts finishable(const char* now = off_by_fix, const char* before = as_it_was) {
  Facts facts = switched();
  facts.storage->devices[1].uuid = "abcdef-ghij-klmn-opqr-stuv-wxyz-ABCDEF";
  LvmFacts lvm;
  lvm.installed = true;
  lvm.system_dir = "/etc/lvm";
  lvm.files = {{lvm_conf, now}};
  facts.lvm = merge_lvm(lvm);
  facts.lvm.devices_file = fail(ErrorKind::missing, "/etc/lvm/devices/system.devices", "");
  facts.finishing.lvm_files_before = {{lvm_conf, before}};
  facts.finishing.devices_file = std::string(proposal);
  return facts;
}

std::vector<Step> finishing_steps(const Facts& facts) {
  std::vector<Finding> findings = after_devices_file_check.run(facts);
  for (Finding& finding : findings) finding.check = after_devices_file_check.id;
  const auto steps = plan_fixes(facts, findings);
  EXPECT_TRUE(steps) << steps.error().message();
  return steps.value_or(std::vector<Step>{});
}

TEST(DevicesFileAgain, TheFileComesFirstThenTheVeryTextFromBefore) {
  const std::vector<Step> steps = finishing_steps(finishable());
  ASSERT_EQ(steps.size(), 2u);
  const auto& devices = std::get<EditFile>(steps[0]);
  EXPECT_EQ(devices.path, "/etc/lvm/devices/system.devices");
  EXPECT_FALSE(devices.before);
  EXPECT_EQ(devices.after, proposal);
  const auto& conf = std::get<EditFile>(steps[1]);
  EXPECT_EQ(conf.path, lvm_conf);
  EXPECT_EQ(conf.before, off_by_fix);
  EXPECT_EQ(conf.after, as_it_was);
}

TEST(DevicesFileAgain, WhatWasEditedSinceStays) {
  const std::string edited = std::string(off_by_fix) + "log {\n\tlevel = 7\n}\n";
  const std::vector<Step> steps = finishing_steps(finishable(edited.c_str()));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(std::get<EditFile>(steps[1]).after, std::string(as_it_was) + "log {\n\tlevel = 7\n}\n");
}

TEST(DevicesFileAgain, AnUnusedFileIsReplaced) {
  Facts facts = finishable();
  facts.lvm.devices_file = parse_devices_file("/etc/lvm/devices/system.devices", "VERSION=1.1.1\n");
  const std::vector<Step> steps = finishing_steps(facts);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(std::get<EditFile>(steps[0]).before, "VERSION=1.1.1\n");
}

TEST(DevicesFileAgain, OnlyWhatAFixSwitchedOffIsSwitchedOn) {
  for (const auto& [now, before] : {std::pair{as_it_was, as_it_was},    // finished already
                                    std::pair{off_by_fix, off_by_fix},  // it was off before
                                    std::pair{as_it_was, off_by_fix}}) {
    const Facts facts = finishable(now, before);
    EXPECT_THAT(statuses(after_devices_file_check, facts), ElementsAre(Status::skip));
  }
  Facts facts = finishable();
  facts.finishing.lvm_files_before.clear();  // no run is in force
  EXPECT_THAT(statuses(after_devices_file_check, facts), ElementsAre(Status::skip));
}

/// Why the check leaves the setting as it is; "" when it offers --finish.
std::string why_left(const Facts& facts) {
  const std::vector<Finding> findings = after_devices_file_check.run(facts);
  EXPECT_EQ(findings.at(0).status, Status::warn);
  return is_fixable(findings[0]) ? "" : findings[0].summary;
}

TEST(DevicesFileAgain, ItIsOfferedAndNotAFault) {
  EXPECT_EQ(why_left(finishable()), "");
  Finding finding = after_devices_file_check.run(finishable()).at(0);
  finding.check = after_devices_file_check.id;
  EXPECT_TRUE(is_finished_with(finding));
  finding.check = "lvm.devicesfile";
  EXPECT_FALSE(is_finished_with(finding)) << "that is for --fix";
}

TEST(DevicesFileAgain, WhatWouldHideADiskInUseIsNotOffered) {
  Facts facts = finishable();
  facts.finishing.devices_file = std::string("VERSION=1.1.1\n");
  EXPECT_THAT(why_left(facts), HasSubstr("LVM would list 0 devices, and my-vg has 1 PVs"));

  facts = finishable();  // a foreign PV as well: never imported
  facts.finishing.devices_file =
      std::string(proposal) + "IDTYPE=devname IDNAME=/dev/sdb PVID=" + std::string(32, 'x') + "\n";
  EXPECT_THAT(why_left(facts), HasSubstr("LVM would list 2 devices"));

  facts = finishable();  // /data lies on another VG
  BlockDevice data = device("dm-2", {1}, {"/data"});
  data.dm_name = "vault-data", data.path = "/dev/mapper/vault-data", data.type = "lvm";
  facts.storage->devices.push_back(data);
  facts.running.pvs->push_back({"/dev/nvme1n1", "vault"});
  EXPECT_THAT(why_left(facts), HasSubstr("the guest also uses volumes of vault"));
  facts.storage->devices.back().mounts.clear();  // visible, and nobody's: it stays out
  EXPECT_EQ(why_left(facts), "");

  facts = finishable();
  facts.running.pvs = fail(ErrorKind::io, "pvs", "no answer");
  EXPECT_THAT(why_left(facts), HasSubstr("no answer"));
  facts = finishable();
  facts.finishing.devices_file = fail(ErrorKind::io, "lvmdevices", "exit status 5");
  EXPECT_THAT(why_left(facts), HasSubstr("exit status 5"));
  facts = finishable();
  facts.storage->devices[1].uuid.clear();
  EXPECT_THAT(why_left(facts), HasSubstr("the PVID of /dev/nvme0n1p3 is not known"));
}

TEST(Running, ReadsWhatPvsReports) {
  const auto pvs = parse_pvs(
      R"({"report":[{"pv":[{"pv_name":"/dev/nvme0n1p3","vg_name":"rl"},{"pv_name":"/dev/x","vg_name":""}]}],"log":[]})");
  ASSERT_TRUE(pvs);
  ASSERT_EQ(pvs->size(), 2u);
  EXPECT_EQ((*pvs)[0].device, "/dev/nvme0n1p3");
  EXPECT_EQ((*pvs)[0].vg, "rl");
  for (const char* text : {"", "{}", R"({"report":[{}]})", R"({"report":1})"})
    EXPECT_FALSE(parse_pvs(text)) << text;
}

TEST(Running, ReadsUnits) {
  EXPECT_THAT(parse_units("a.service loaded failed failed A b\nb.mount loaded failed failed B\n\n"),
              ElementsAre("a.service", "b.mount"));
}

}  // namespace
}  // namespace preflight
