// SPDX-License-Identifier: MIT
// What --verify looks at once the disk is NVMe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"
#include "agent/engine.h"
#include "agent/facts/running.h"
#include "checks/list.h"

namespace preflight {

extern const Check after_root_disk_check;
extern const Check after_mounts_check;
extern const Check after_volume_group_check;
extern const Check after_failed_units_check;

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
