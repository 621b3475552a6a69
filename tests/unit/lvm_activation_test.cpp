// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"

namespace preflight {

extern const Check lvm_activation_check;

namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::string kernel = "5.14.0-503.el9.x86_64";
const std::string image_path = "/boot/initramfs-" + kernel + ".img";

BlockDevice lv(const std::string& number, const std::string& dm_name,
               std::vector<std::string> mounts) {
  BlockDevice device;
  device.name = "dm-" + number;
  device.path = "/dev/mapper/" + dm_name;
  device.dm_name = dm_name;
  device.type = "lvm";
  device.mounts = std::move(mounts);
  device.parents = {1};
  return device;
}

Storage lvm_storage() {
  Storage storage;
  storage.source = "lsblk.json";
  BlockDevice disk, pv;
  disk.name = "vda";
  pv.name = "vda3";
  pv.fstype = "LVM2_member";
  pv.parents = {0};
  storage.devices = {disk, pv, lv("0", "rl-root", {"/"}), lv("1", "rl-swap", {"[SWAP]"})};
  return storage;
}

Storage plain_storage() {
  Storage storage = lvm_storage();
  storage.devices[1].fstype = "xfs";
  storage.devices[1].mounts = {"/"};
  storage.devices.resize(2);
  return storage;
}

Image image() {
  Image made;
  made.files["usr/sbin/lvm"] = ImageFile{};
  return made;
}

Facts facts(const std::string& options, Result<Storage> storage,
            Result<Image> with_image = image()) {
  Facts made;
  BootEntry entry;
  entry.id = "one";
  entry.path = entry.options_path = "/boot/loader/entries/one.conf";
  entry.options_line = 5;
  entry.kernel = kernel;
  entry.linux_path = "/boot/vmlinuz-" + kernel;
  entry.initrds = {image_path};
  entry.options = options;
  entry.is_default = true;
  BootMenu menu;
  menu.entries = {entry};
  menu.default_index = 0;
  made.boot = std::move(menu);
  made.images.emplace(image_path, std::move(with_image));
  made.storage = std::move(storage);
  return made;
}

Finding judge(const Facts& with) {
  std::vector<Finding> findings = lvm_activation_check.run(with);
  EXPECT_THAT(findings, SizeIs(1));
  return findings.empty() ? Finding{} : findings[0];
}

Finding judge(const std::string& options, Result<Storage> storage = lvm_storage(),
              Result<Image> with_image = image()) {
  return judge(facts(options, std::move(storage), std::move(with_image)));
}

Result<Storage> none() {
  return fail(ErrorKind::missing, "", "the tree's disks are not attached");
}

TEST(LvmActivation, RootsVolumeIsActivated) {
  for (const char* words :
       {"rd.lvm.lv=rl/root", "rd.lvm.lv=rl/root rd.lvm.lv=rl/swap", "rd.lvm.vg=rl",
        "rd.lvm.lv=rl/swap rd.lvm.vg=rl", "rd.lvm=1 rd.lvm.lv=rl/root",
        "rd.lvm=0 rd.lvm rd.lvm.lv=rl/root", "rd_LVM_LV=rl/root", "rd.lvm.lv=\"rl/root rl/swap\""})
    EXPECT_EQ(judge(std::string("root=/dev/mapper/rl-root ") + words).status, Status::pass)
        << words;
}

TEST(LvmActivation, VolumeGroupsWithDashes) {
  Storage storage = lvm_storage();
  storage.devices[2].dm_name = "my--vg-root--lv";
  EXPECT_EQ(judge("rd.lvm.lv=my-vg/root-lv", storage).status, Status::pass);
  EXPECT_EQ(judge("rd.lvm.lv=my/vg-root-lv", storage).status, Status::fail);
}

TEST(LvmActivation, OthersButNotRoots) {
  const Finding finding = judge("root=/dev/mapper/rl-root rd.lvm.lv=rl/swap");
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.subject, "one");
  EXPECT_THAT(finding.summary, HasSubstr("rl/root"));
  ASSERT_THAT(finding.evidence, SizeIs(1));
  EXPECT_EQ(finding.evidence[0].saw, "rd.lvm.lv=rl/swap");
  EXPECT_EQ(finding.evidence[0].want, "rd.lvm.lv=rl/root");
  EXPECT_EQ(finding.evidence[0].line, 5);
  ASSERT_TRUE(finding.remedy);
  EXPECT_EQ(finding.remedy->fix, "");
  // Without the disks the command line still contradicts itself.
  EXPECT_EQ(judge("root=/dev/mapper/rl-root rd.lvm.lv=rl/swap", none()).status, Status::fail);
  EXPECT_EQ(judge("root=/dev/rl/root rd.lvm.vg=other", none()).status, Status::fail);
}

TEST(LvmActivation, OneThatDoesNotExist) {
  const Finding finding = judge("root=/dev/mapper/rl-root rd.lvm.lv=rl/root rd.lvm.lv=rl/old");
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.evidence[0].saw, "rd.lvm.lv=rl/old");
  EXPECT_EQ(judge("rd.lvm.vg=rl rd.lvm.vg=gone").status, Status::fail);
}

TEST(LvmActivation, WhatIsNoVolume) {
  for (const char* word : {"rd.lvm.lv=root", "rd.lvm.lv=rl/root,rl/swap", "rd.lvm.lv",
                           "rd.lvm.lv=/", "rd.lvm.lv=rl/", "rd.lvm.lv=/dev/rl/root"}) {
    EXPECT_EQ(judge(std::string("root=/dev/rl/root rd.lvm.lv=rl/root ") + word).status,
              Status::fail)
        << word;
    EXPECT_EQ(judge(std::string("root=/dev/rl/root rd.lvm.lv=rl/root ") + word, none()).status,
              Status::fail)
        << word;
  }
}

TEST(LvmActivation, SwitchedOff) {
  for (const char* words :
       {"rd.lvm=0", "rd.lvm=no", "rd.lvm=off", "rd_NO_LVM", "rd.lvm=1 rd.lvm=0"})
    EXPECT_EQ(judge(std::string("rd.lvm.lv=rl/root ") + words).status, Status::fail) << words;
  Facts el10 = facts("rd.lvm.lv=rl/root rd_NO_LVM", lvm_storage());
  Release release;
  release.major = 10;
  el10.release = release;
  EXPECT_EQ(judge(el10).status, Status::pass);
  el10.boot->entries[0].options = "rd_LVM_LV=rl/root";
  EXPECT_EQ(judge(el10).status, Status::warn);
}

// parse-lvm.sh of EL 8, 9 and 10 keeps its udev rule then, and lvm_scan activates every VG.
TEST(LvmActivation, NothingNamedWorksAgainstTheManual) {
  EXPECT_EQ(judge("root=/dev/mapper/rl-root ro").status, Status::warn);
  EXPECT_EQ(judge("root=/dev/mapper/rl-root ro rd.auto=1").status, Status::warn);
}

TEST(LvmActivation, AnImageWithoutLvm) {
  EXPECT_EQ(judge("rd.lvm.lv=rl/root", lvm_storage(), Image()).status, Status::fail);
  Image opaque;
  opaque.opaque_parts = {"squashfs-root.img"};
  EXPECT_EQ(judge("rd.lvm.lv=rl/root", lvm_storage(), opaque).status, Status::unknown);
  Image elsewhere;
  elsewhere.files["usr/bin/lvm"] = ImageFile{};
  EXPECT_EQ(judge("rd.lvm.lv=rl/root", lvm_storage(), elsewhere).status, Status::pass);
  const auto unreadable = fail(ErrorKind::denied, image_path, "Permission denied");
  EXPECT_EQ(judge("rd.lvm.lv=rl/root", lvm_storage(), unreadable).status, Status::unknown);
  // What is wrong with the command line is wrong whatever the image holds.
  const std::vector<Finding> both =
      lvm_activation_check.run(facts("rd.lvm.lv=rl/swap", lvm_storage(), unreadable));
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[0].status, Status::fail);
  EXPECT_EQ(both[0].subject, "one");
  EXPECT_EQ(both[1].status, Status::unknown);
  EXPECT_EQ(both[1].subject, image_path);
}

TEST(LvmActivation, AnImageWithoutDeviceMapper) {
  Facts with = facts("rd.lvm.lv=rl/root", lvm_storage());
  Kernel known;
  known.version = kernel;
  known.modular = {"dm_mod"};
  with.kernels = std::vector<Kernel>{known};
  EXPECT_EQ(judge(with).status, Status::fail);
  EXPECT_THAT(judge(with).summary, HasSubstr("dm_mod"));
  with.kernels->front().builtin = {"dm_mod"};
  EXPECT_EQ(judge(with).status, Status::pass);
  with.kernels->front() = Kernel{};
  EXPECT_EQ(judge(with).status, Status::pass);
}

TEST(LvmActivation, TheImagesOwnCommandLineCounts) {
  Facts with = facts("root=/dev/mapper/rl-root ro", lvm_storage());
  ImageFile file;
  file.content = " rd.lvm.lv=rl/root \n rd.lvm.lv=rl/old\n";
  with.images.begin()->second->files["etc/cmdline.d/90lvm.conf"] = file;
  const Finding finding = judge(with);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.evidence[0].path, image_path + ":etc/cmdline.d/90lvm.conf");
  EXPECT_EQ(finding.evidence[0].line, 2);
}

TEST(LvmActivation, WithoutTheDisks) {
  const std::string root = "root=/dev/mapper/rl-root rd.lvm.lv=rl/root";
  EXPECT_EQ(judge(root, none()).status, Status::pass);
  const Finding finding = judge(root + " rd.lvm.lv=rl/swap", none());
  EXPECT_EQ(finding.status, Status::unknown);
  EXPECT_THAT(finding.summary, HasSubstr("rl/swap"));
  EXPECT_EQ(judge("root=UUID=1 rd.lvm.lv=rl/root", none()).status, Status::unknown);
  EXPECT_EQ(judge("root=/dev/mapper/luks-1-2 rd.lvm.lv=rl/root", none()).status, Status::unknown);
  EXPECT_EQ(judge(root + " rd.lvm=0", none()).status, Status::fail);
}

TEST(LvmActivation, AListingFromARescueSystem) {
  Storage storage = lvm_storage();
  storage.devices.resize(2);
  EXPECT_EQ(judge("root=/dev/rl/root rd.lvm.lv=rl/root rd.lvm.lv=rl/swap", storage).status,
            Status::unknown);
}

TEST(LvmActivation, RootIsNoVolume) {
  const Finding finding = judge("root=UUID=1 ro", plain_storage());
  EXPECT_EQ(finding.status, Status::skip);
  // dracut's lvm module waits for what is named, whatever root is on.
  EXPECT_EQ(judge("root=UUID=1 rd.lvm.lv=rl/old", plain_storage()).status, Status::fail);
  EXPECT_EQ(judge("root=UUID=1 rd.lvm.lv=rl/old", plain_storage(), Image()).status, Status::skip);
  EXPECT_EQ(judge("root=UUID=1 rd.lvm.lv=rl/old rd.lvm=0", plain_storage()).status, Status::skip);
}

TEST(LvmActivation, AnEncryptedRootOnAVolume) {
  Storage storage = lvm_storage();
  storage.devices[2].mounts = {};
  BlockDevice luks;
  luks.name = "dm-2";
  luks.dm_name = "luks-1-2";
  luks.type = "crypt";
  luks.mounts = {"/"};
  luks.parents = {2};
  storage.devices.push_back(luks);
  EXPECT_EQ(judge("rd.lvm.lv=rl/root", storage).status, Status::pass);
  EXPECT_EQ(judge("rd.lvm.lv=rl/swap", storage).status, Status::fail);
}

TEST(LvmActivation, OtherEntriesWarnAndAreNamed) {
  Facts with = facts("rd.lvm.lv=rl/root", lvm_storage());
  BootEntry other = with.boot->entries[0];
  other.id = "two";
  other.is_default = false;
  other.options = "rd.lvm.lv=rl/old";
  with.boot->entries.push_back(other);
  const std::vector<Finding> findings = lvm_activation_check.run(with);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::warn);
  EXPECT_EQ(findings[1].subject, "two");
}

TEST(LvmActivation, WithoutEntriesNothingIsKnown) {
  Facts with = facts("", lvm_storage());
  with.boot->entries.clear();
  EXPECT_EQ(judge(with).status, Status::unknown);
  with.boot = fail(ErrorKind::denied, "/boot/loader/entries", "Permission denied");
  EXPECT_EQ(judge(with).status, Status::unknown);
}

}  // namespace
}  // namespace preflight
