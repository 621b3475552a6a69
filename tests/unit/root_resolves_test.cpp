// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"

namespace preflight {

extern const Check root_resolves_check;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string uuid = "11111111-1111-4111-8111-aaaaaaaaaaaa";

BlockDevice device(std::string name, std::string type, std::string fstype, std::string id) {
  BlockDevice made;
  made.path = "/dev/" + name;
  made.name = std::move(name);
  made.type = std::move(type);
  made.fstype = std::move(fstype);
  made.uuid = std::move(id);
  return made;
}

/// vda3, an xfs, mounted at /.
Storage plain() {
  Storage storage;
  storage.source = "lsblk.json";
  storage.devices = {device("vda", "disk", "", ""), device("vda3", "part", "xfs", uuid),
                     device("vda2", "part", "xfs", "2222")};
  storage.devices[1].parents = storage.devices[2].parents = {0};
  storage.devices[1].mounts = {"/"};
  storage.devices[1].partuuid = "aaaa-03";
  storage.devices[1].label = "root";
  storage.devices[2].mounts = {"/boot"};
  return storage;
}

/// The same on the LV rl/root.
Storage lvm() {
  Storage storage = plain();
  BlockDevice root = storage.devices[1];
  storage.devices[1] = device("vda3", "part", "LVM2_member", "pv");
  storage.devices[1].parents = {0};
  root.name = "dm-0";
  root.path = "/dev/mapper/rl-root";
  root.dm_name = "rl-root";
  root.type = "lvm";
  root.parents = {1};
  storage.devices.push_back(root);
  return storage;
}

BootEntry entry(const std::string& id, const std::string& options) {
  BootEntry made;
  made.id = id;
  made.path = "/boot/loader/entries/" + id + ".conf";
  made.linux_path = "/boot/vmlinuz-" + id;
  made.initrds = {"/boot/initramfs-" + id + ".img"};
  made.options = options;
  made.options_path = made.path;
  made.options_line = 5;
  return made;
}

Facts facts(const std::string& options, Result<Storage> storage) {
  Facts made;
  BootMenu menu;
  menu.entries = {entry("one", options)};
  menu.entries[0].is_default = true;
  menu.default_index = 0;
  made.boot = std::move(menu);
  made.images.emplace("/boot/initramfs-one.img", Image());
  made.storage = std::move(storage);
  return made;
}

Finding judge(const std::string& options, Result<Storage> storage) {
  std::vector<Finding> findings = root_resolves_check.run(facts(options, std::move(storage)));
  EXPECT_THAT(findings, SizeIs(1));
  return findings.empty() ? Finding{} : findings[0];
}

Status status(const std::string& options, Result<Storage> storage) {
  return judge(options, std::move(storage)).status;
}

Result<Storage> none() {
  return fail(ErrorKind::missing, "", "the tree's disks are not attached");
}

TEST(RootResolves, WhatLeadsToTheRootFileSystemOnAnyController) {
  for (const std::string& options :
       {"root=UUID=" + uuid + " ro", "ro root=\"UUID=" + uuid + "\"", "root=block:UUID=" + uuid,
        "root=/dev/disk/by-uuid/" + uuid, std::string("root=LABEL=root"),
        std::string("root=PARTUUID=aaaa-03"), "root=/dev/vda3 root=UUID=" + uuid})
    EXPECT_EQ(status(options, plain()), Status::pass) << options;
  for (const std::string& options :
       {std::string("root=/dev/mapper/rl-root"), std::string("root=/dev/rl/root"),
        std::string("root=/dev/disk/by-id/dm-name-rl-root")})
    EXPECT_EQ(status(options, lvm()), Status::pass) << options;
  EXPECT_EQ(status("root=UUID=" + uuid, lvm()), Status::pass);
}

TEST(RootResolves, NamesThatTheControllerGives) {
  for (const char* name :
       {"/dev/vda3", "/dev/sda3", "/dev/nvme0n1p3", "/dev/dm-0", "/dev/block/252:3",
        "/dev/disk/by-path/pci-0000:00:02.0-part3", "/dev/disk/by-id/virtio-BHYVE-1-part3",
        "/dev/disk/by-id/nvme-eui.589cfc-part3", "block:/dev/vda3"}) {
    const std::string options = std::string("ro root=") + name;
    EXPECT_EQ(status(options, plain()), Status::fail) << name;
    EXPECT_EQ(status(options, none()), Status::fail) << name;
  }
  const Finding finding = judge("ro root=/dev/vda3", plain());
  EXPECT_EQ(finding.subject, "one");
  ASSERT_THAT(finding.evidence, SizeIs(1));
  EXPECT_EQ(finding.evidence[0].path, "/boot/loader/entries/one.conf");
  EXPECT_EQ(finding.evidence[0].line, 5);
  EXPECT_EQ(finding.evidence[0].saw, "root=/dev/vda3");
  EXPECT_EQ(finding.evidence[0].want, "root=UUID=" + uuid);
  ASSERT_TRUE(finding.remedy);
  EXPECT_EQ(finding.remedy->fix, "cmdline");
  const Finding by_hand = judge("ro root=/dev/nvme0n1p3", plain());
  EXPECT_EQ(by_hand.remedy->fix, "");
  EXPECT_THAT(by_hand.remedy->command, ElementsAre("grubby", "--update-kernel=/boot/vmlinuz-one",
                                                   "--args=root=UUID=" + uuid));
  EXPECT_EQ(judge("root=/dev/vda3", lvm()).evidence[0].want, "root=/dev/mapper/rl-root");
}

TEST(RootResolves, ElsewhereOrNowhere) {
  const Finding elsewhere = judge("root=UUID=2222", plain());
  EXPECT_EQ(elsewhere.status, Status::fail);
  EXPECT_THAT(elsewhere.summary, HasSubstr("/dev/vda2"));
  EXPECT_THAT(elsewhere.summary, HasSubstr("/dev/vda3"));
  EXPECT_EQ(status("root=UUID=gone", plain()), Status::fail);
  EXPECT_EQ(status("root=/dev/mapper/rl-old", lvm()), Status::fail);
  EXPECT_EQ(status("root=LABEL=Root", plain()), Status::fail);
}

TEST(RootResolves, TheLastRootCounts) {
  EXPECT_EQ(status("root=UUID=" + uuid + " root=UUID=gone", plain()), Status::fail);
  EXPECT_EQ(status("root=UUID=" + uuid + " root", plain()), Status::fail);
  EXPECT_EQ(status("root=UUID=" + uuid + " root=", plain()), Status::fail);
}

TEST(RootResolves, LinksAreSpelledAsLibblkidPrints) {
  EXPECT_EQ(status("root=UUID=11111111-1111-4111-8111-AAAAAAAAAAAA", plain()), Status::fail);
}

TEST(RootResolves, Duplicates) {
  Storage storage = plain();
  storage.devices.push_back(device("vdb", "disk", "xfs", uuid));
  const Finding finding = judge("root=UUID=" + uuid, storage);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.summary, HasSubstr("/dev/vda3, /dev/vdb"));
}

TEST(RootResolves, ABtrfsOfSeveralDevicesIsOneFileSystem) {
  Storage storage = plain();
  storage.devices[1].fstype = "btrfs";
  storage.devices.push_back(device("vdb", "disk", "btrfs", uuid));
  EXPECT_EQ(status("root=UUID=" + uuid, storage), Status::pass);
  storage.devices[1].mounts = {};
  EXPECT_EQ(status("root=UUID=" + uuid, storage), Status::unknown);
  storage.devices[2].mounts = {"/"};
  EXPECT_EQ(status("root=UUID=" + uuid, storage), Status::fail);
}

TEST(RootResolves, NoRoot) {
  EXPECT_EQ(status("ro quiet", plain()), Status::fail);
  EXPECT_EQ(status("", none()), Status::fail);
  Facts with = facts("ro quiet", plain());
  ImageFile file;
  file.content = "root=UUID=" + uuid + "\n";
  with.images.begin()->second->files["etc/cmdline.d/95root-dev.conf"] = file;
  EXPECT_EQ(root_resolves_check.run(with)[0].status, Status::pass);
  with.images.begin()->second->files["etc/cmdline.d/95root-dev.conf"].content = "root=/dev/vda3";
  const Finding finding = root_resolves_check.run(with)[0];
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.evidence[0].path, "/boot/initramfs-one.img:etc/cmdline.d/95root-dev.conf");
  // The kernel's own command line comes after the image's.
  with.boot->entries[0].options = "root=UUID=" + uuid;
  EXPECT_EQ(root_resolves_check.run(with)[0].status, Status::pass);
  with.boot->entries[0].options = "ro";
  with.images.begin()->second = fail(ErrorKind::malformed, "/boot/initramfs-one.img", "cut");
  EXPECT_EQ(root_resolves_check.run(with)[0].status, Status::unknown);
}

TEST(RootResolves, WhatCannotBeTold) {
  EXPECT_EQ(status("root=UUID=" + uuid, none()), Status::unknown);
  EXPECT_EQ(status("root=/dev/mapper/rl-root", none()), Status::unknown);
  for (const char* root : {"nfs:server:/x", "live:CDLABEL=x", "gpt-auto", "/dev/nfs", "tmpfs"})
    EXPECT_EQ(status(std::string("root=") + root, plain()), Status::unknown) << root;

  Storage rescue = plain();
  rescue.devices[1].mounts = {};
  EXPECT_EQ(status("root=UUID=" + uuid, rescue), Status::unknown);
  EXPECT_EQ(status("root=UUID=gone", rescue), Status::fail);
  rescue.devices.push_back(device("vdb", "disk", "LVM2_member", "pv"));
  EXPECT_EQ(status("root=UUID=gone", rescue), Status::unknown);

  Storage denied = plain();
  denied.devices[1].uuid = "";
  denied.devices[1].probe_error = Error{ErrorKind::denied, "/dev/vda3", 0, "Permission denied"};
  const Finding finding = judge("root=UUID=" + uuid, denied);
  EXPECT_EQ(finding.status, Status::unknown);
  EXPECT_THAT(finding.summary, HasSubstr("Permission denied"));
}

TEST(RootResolves, SnapshotsAreNotToldApart) {
  Storage storage = lvm();
  BlockDevice real = storage.devices[3];
  real.dm_name = "rl-root-real";
  real.mounts = {};
  storage.devices.push_back(real);
  BlockDevice snapshot = storage.devices[3];
  snapshot.dm_name = "rl-snap";
  storage.devices[3].mounts = {};
  storage.devices[3].parents = {4};
  snapshot.parents = {4};
  storage.devices.push_back(snapshot);
  EXPECT_EQ(status("root=UUID=" + uuid, storage), Status::unknown);
}

TEST(RootResolves, OtherEntriesWarn) {
  Facts with = facts("root=UUID=" + uuid, plain());
  with.boot->entries.push_back(entry("two", "root=/dev/vda3"));
  std::vector<Finding> findings = root_resolves_check.run(with);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::warn);
  EXPECT_EQ(findings[1].subject, "two");
  with.boot->default_index.reset();
  with.boot->entries[0].is_default = false;
  EXPECT_EQ(root_resolves_check.run(with)[1].status, Status::fail);
}

TEST(RootResolves, WithoutEntriesNothingIsKnown) {
  Facts with = facts("", plain());
  with.boot->entries.clear();
  EXPECT_EQ(root_resolves_check.run(with)[0].status, Status::unknown);
  with.boot = fail(ErrorKind::missing, "/boot/loader/entries", "is not there");
  EXPECT_EQ(root_resolves_check.run(with)[0].status, Status::unknown);
}

}  // namespace
}  // namespace preflight
