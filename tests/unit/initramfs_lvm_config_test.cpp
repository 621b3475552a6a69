// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"
#include "agent/facts/nvme_names.h"
#include "tests/support/boot_facts.h"

namespace preflight {

extern const Check initramfs_lvm_config_check;

namespace {

using ::testing::Contains;
using testing::entry_of;
using testing::facts_with;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::nvme_image;
using testing::put;
using testing::put_unread;

constexpr const char* lvm_options = "root=/dev/mapper/rl-root ro rd.lvm.lv=rl/root";
constexpr const char* vda3_only = "devices {\n\tfilter = [ \"a|^/dev/vda3$|\", \"r|.*|\" ]\n}\n";

/// One disk vda: vda1 ESP, vda2 /boot, vda3 PV of rl, root on rl/root.
Storage lvm_storage() {
  Storage storage;
  storage.source = "test";
  const auto add = [&](std::string name, std::string type, std::vector<std::size_t> parents) {
    BlockDevice device;
    device.path = type == "lvm" ? "/dev/mapper/" + name : "/dev/" + name;
    device.dm_name = type == "lvm" ? name : "";
    device.name = type == "lvm" ? "dm-0" : std::move(name);
    device.type = std::move(type);
    device.parents = std::move(parents);
    storage.devices.push_back(std::move(device));
  };
  add("vda", "disk", {});
  add("vda3", "part", {0});
  storage.devices[1].fstype = "LVM2_member";
  storage.devices[1].uuid = "7sbRZ0-Vgyo-Xa1O-eE5l-g9Db-XCVi-xYVkfO";
  storage.devices[1].partuuid = "0a3407de-03";
  add("rl-root", "lvm", {1});
  storage.devices[2].dm_uuid = "LVM-x";
  storage.devices[2].mounts = {"/"};
  return storage;
}

Facts lvm_facts(Image image, std::string options = lvm_options) {
  Facts facts = facts_with(std::move(image), {entry_of("default", std::move(options))});
  facts.storage = lvm_storage();
  facts.lvm.installed = true;
  facts.lvm.system_dir = "/etc/lvm";
  facts.lvm.use_devicesfile_default = true;
  facts.lvm.default_source = "test";
  return facts;
}

Finding run(const Facts& facts) {
  const std::vector<Finding> findings = initramfs_lvm_config_check.run(facts);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings.front();
}

Image image_with(const std::string& conf, const std::string& path = "etc/lvm/lvm.conf") {
  Image image = nvme_image();
  put(image, path, conf);
  return image;
}

Status status_with(const std::string& conf, std::string options = lvm_options) {
  return run(lvm_facts(image_with(conf), std::move(options))).status;
}

std::string filter(const std::string& patterns, const std::string& name = "filter") {
  return "devices { " + name + " = [ " + patterns + " ] }\n";
}

TEST(InitramfsLvmConfig, AFrozenFilterFails) {
  const Finding finding = run(lvm_facts(image_with(vda3_only)));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.summary, HasSubstr("/dev/nvme0n1p3"));
  ASSERT_EQ(finding.evidence.size(), 1u);
  EXPECT_EQ(finding.evidence[0].path, "/boot/initramfs-5.14.0-500.el9.x86_64.img:etc/lvm/lvm.conf");
  EXPECT_EQ(finding.evidence[0].line, 2);
  EXPECT_THAT(finding.evidence[0].saw, HasSubstr("vda3"));
  ASSERT_TRUE(finding.remedy);
  EXPECT_EQ(finding.remedy->fix, "rebuild-initramfs");
}

Facts with_own_conf(const std::string& conf) {
  Facts facts = lvm_facts(image_with(vda3_only));
  facts.lvm.files = {{"/etc/lvm/lvm.conf", conf}};
  facts.lvm = merge_lvm(facts.lvm);
  return facts;
}

TEST(InitramfsLvmConfig, ARebuildIsOfferedWhereTheGuestsOwnFilterIsGoodOrGetsMended) {
  EXPECT_EQ(run(with_own_conf(filter("\"a|.*|\""))).remedy->fix, "rebuild-initramfs");
  EXPECT_EQ(run(with_own_conf(vda3_only)).remedy->fix, "rebuild-initramfs")
      << "lvm.filter's fix comes before the rebuild";
}

TEST(InitramfsLvmConfig, ARebuildIsNotOfferedWhereItWouldCopyAFaultThatStays) {
  for (const std::string& conf : {std::string("devices {\n filter = ["),
                                  filter("\"a|/dev/disk/by-id/lvm-pv-uuid-.*|\", \"r|.*|\"")}) {
    const Finding finding = run(with_own_conf(conf));
    EXPECT_EQ(finding.status, Status::fail);
    EXPECT_EQ(finding.remedy->fix, "") << conf;
    EXPECT_THAT(finding.remedy->text, HasSubstr("rd.lvm.conf=0"));
  }
}

TEST(InitramfsLvmConfig, FiltersByWhatTheyAccept) {
  EXPECT_EQ(status_with(filter("\"a|.*|\"")), Status::pass);
  EXPECT_EQ(status_with(filter("\"a|/dev/nvme.*|\", \"r|.*|\"")), Status::pass);
  EXPECT_EQ(status_with(filter("\"r|^/dev/cdrom$|\"")), Status::pass);
  EXPECT_EQ(status_with(filter("\"a|/dev/disk/by-partuuid/.*|\", \"r|.*|\"")), Status::pass);
  EXPECT_EQ(status_with(filter("\"a|/dev/nvme0n1p2$|\", \"r|.*|\"")), Status::fail);
  EXPECT_EQ(status_with(filter("\"r|/dev/nvme.*|\", \"r|/dev/disk.*|\"")), Status::fail);
  EXPECT_EQ(status_with(filter("\"r|.*|\"", "global_filter")), Status::fail);
  EXPECT_EQ(status_with(filter("\"a|.*|\"") + filter("\"r|.*|\"", "global_filter")), Status::fail);
  EXPECT_EQ(status_with("# filter = [ \"r|.*|\" ]\ndevices { dir = \"/dev\" }\n"), Status::pass);
}

TEST(InitramfsLvmConfig, TheRootsRulesMakeLinksThatTheInitramfsLacks) {
  EXPECT_EQ(status_with(filter("\"a|/dev/disk/by-id/lvm-pv-uuid-.*|\", \"r|.*|\"")), Status::fail);
}

TEST(InitramfsLvmConfig, NoConfOfItsOwnPasses) {
  EXPECT_EQ(run(lvm_facts(nvme_image())).status, Status::pass);
}

TEST(InitramfsLvmConfig, RdLvmConfZeroDropsTheFile) {
  const std::string dropped = std::string(lvm_options) + " rd.lvm.conf=0";
  const Finding finding = run(lvm_facts(image_with(vda3_only), dropped));
  EXPECT_EQ(finding.status, Status::pass);
  EXPECT_THAT(finding.summary, HasSubstr("rd.lvm.conf=0"));
  EXPECT_EQ(status_with(vda3_only, dropped + " rd.lvm.conf=1"), Status::fail);
  Image image = image_with(vda3_only);
  put(image, "etc/lvm/lvmlocal.conf", vda3_only);
  EXPECT_EQ(run(lvm_facts(image, dropped)).status, Status::fail) << "lvmlocal.conf stays";
}

TEST(InitramfsLvmConfig, WhatDoesNotParseFails) {
  const Finding finding = run(lvm_facts(image_with("devices {\n filter = [\n")));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.evidence.at(0).path, HasSubstr("etc/lvm/lvm.conf"));
  EXPECT_EQ(status_with(filter("\"xyz\"")), Status::fail);
}

TEST(InitramfsLvmConfig, CommentsAloneAreHealedByTheAppendedFilter) {
  EXPECT_EQ(status_with("# nothing set\n"), Status::pass);
  EXPECT_EQ(status_with("devices { }\n# no newline"), Status::fail)
      << "lvm_scan's filter then begins inside the comment";
  Facts facts = lvm_facts(image_with("# nothing set\n"));
  facts.release->major = 8;
  EXPECT_EQ(run(facts).status, Status::fail) << "EL 8 appends nothing";
}

TEST(InitramfsLvmConfig, ADevicesFileInTheImage) {
  const std::string path = "etc/lvm/devices/system.devices";
  const std::string serial =
      "VERSION=1.1.2\nIDTYPE=sys_serial IDNAME=BHYVE-1 DEVNAME=/dev/vda3 "
      "PVID=7sbRZ0VgyoXa1OeE5lg9DbXCVixYVkfO PART=3\n";
  Image image = image_with(serial, path);
  const Finding finding = run(lvm_facts(image));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.summary, HasSubstr("devices file"));
  EXPECT_EQ(finding.evidence.at(1).line, 2);
  put(image, "etc/lvm/lvm.conf", "devices { use_devicesfile = 0 }\n");
  EXPECT_EQ(run(lvm_facts(image)).status, Status::pass);
  Image empty = image_with("", path);
  EXPECT_EQ(run(lvm_facts(empty)).status, Status::fail);

  const std::string devname =
      "IDTYPE=devname IDNAME=/dev/vda3 DEVNAME=/dev/vda3 PVID=7sbRZ0VgyoXa1OeE5lg9DbXCVixYVkfO\n";
  Facts facts = lvm_facts(image_with(devname, path));
  EXPECT_EQ(run(facts).status, Status::fail);
  facts.lvm.version = LvmVersion{{2, 3, 24}, "2.03.24", "test"};
  EXPECT_EQ(run(facts).status, Status::pass);
}

TEST(InitramfsLvmConfig, RootElsewhereIsSkipped) {
  Facts facts = lvm_facts(image_with(vda3_only));
  facts.storage->devices[2].mounts.clear();
  facts.storage->devices[0].mounts = {"/"};
  EXPECT_EQ(run(facts).status, Status::skip);
  facts.storage = fail(ErrorKind::missing, "", "no disks");
  facts.boot->entries[0].options = "root=UUID=0a3407de-014b-458b-b5c1-848e92a327a3";
  EXPECT_EQ(run(facts).status, Status::skip);
}

TEST(InitramfsLvmConfig, WithoutDisksEveryPartitionIsTried) {
  const auto status = [](const std::string& conf, std::string options) {
    Facts facts = lvm_facts(image_with(conf), std::move(options));
    facts.storage = fail(ErrorKind::missing, "", "no disks");
    return run(facts).status;
  };
  EXPECT_EQ(status(vda3_only, lvm_options), Status::fail);
  EXPECT_EQ(status(filter("\"a|nvme|\", \"r|.*|\""), lvm_options), Status::pass);
  EXPECT_EQ(status(filter("\"a|nvme0n1p3|\", \"r|.*|\""), lvm_options), Status::unknown);
  EXPECT_EQ(status(vda3_only, "root=UUID=1 rd.lvm.lv=rl/swap"), Status::unknown);
}

TEST(InitramfsLvmConfig, WhatWasNotReadIsNoPass) {
  Image image = nvme_image();
  put_unread(image, "etc/lvm/lvm.conf");
  EXPECT_EQ(run(lvm_facts(image)).status, Status::unknown);
  Image cut = nvme_image();
  cut.damage = Error{ErrorKind::unsupported, "", 0, "lzo"};
  EXPECT_EQ(run(lvm_facts(cut)).status, Status::unknown);
}

TEST(NvmeNames, OfAPartitionAndOfADisk) {
  Storage storage = lvm_storage();
  const auto names = *nvme_names(storage, 1, NamesSeenBy::root);
  EXPECT_EQ(names.front(), "/dev/nvme0n1p3");
  EXPECT_THAT(names, Contains("/dev/disk/by-partuuid/0a3407de-03"));
  EXPECT_THAT(names,
              Contains("/dev/disk/by-id/lvm-pv-uuid-7sbRZ0-Vgyo-Xa1O-eE5l-g9Db-XCVi-xYVkfO"));
  EXPECT_THAT(*nvme_names(storage, 1, NamesSeenBy::initramfs), Not(Contains(HasSubstr("lvm-pv"))));
  EXPECT_EQ(nvme_names(storage, 0, NamesSeenBy::root)->front(), "/dev/nvme0n1");
  EXPECT_FALSE(nvme_names(storage, 99, NamesSeenBy::root));
}

TEST(NvmeNames, CountsDisksAndKeepsLayers) {
  Storage storage = lvm_storage();
  BlockDevice disk;
  disk.name = "vdb";
  disk.path = "/dev/vdb";
  disk.type = "disk";
  storage.devices.push_back(disk);
  BlockDevice crypt;
  crypt.name = "dm-1";
  crypt.path = "/dev/mapper/luks-1";
  crypt.type = "crypt";
  crypt.dm_name = "luks-1";
  crypt.parents = {3};
  storage.devices.push_back(crypt);
  EXPECT_EQ(nvme_names(storage, 3, NamesSeenBy::root)->front(), "/dev/nvme1n1");
  EXPECT_EQ(nvme_names(storage, 4, NamesSeenBy::root)->front(), "/dev/mapper/luks-1");
}

}  // namespace
}  // namespace preflight
