// SPDX-License-Identifier: MIT
#include "agent/facts/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdevmapper.h>

namespace preflight {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// vda (virtio) with an ESP, /boot and a PV that holds rl-root and rl-swap.
Storage guest() {
  Storage storage;
  const auto add = [&](BlockDevice device, std::vector<std::size_t> parents) {
    if (device.path.empty()) device.path = "/dev/" + device.name;
    device.parents = std::move(parents);
    storage.devices.push_back(std::move(device));
    return storage.devices.size() - 1;
  };
  BlockDevice disk;
  disk.name = "vda";
  disk.type = "disk";
  disk.transport = "virtio";
  disk.serial = "BHYVE-1234";
  disk.number = "252:0";
  add(disk, {});
  BlockDevice esp;
  esp.name = "vda1";
  esp.type = "part";
  esp.fstype = "vfat";
  esp.uuid = "ABCD-1234";
  esp.partlabel = "EFI System Partition";
  add(esp, {0});
  BlockDevice pv;
  pv.name = "vda3";
  pv.type = "part";
  pv.number = "252:3";
  pv.fstype = "LVM2_member";
  pv.uuid = "AbCdEf-0123-4567-89ab-cdef-0123-456789";
  pv.partuuid = "44444444-03";
  add(pv, {0});
  BlockDevice root;
  root.name = "dm-0";
  root.path = "/dev/mapper/rl-root";
  root.dm_name = "rl-root";
  root.dm_uuid = "LVM-" + std::string(64, 'x');
  root.type = "lvm";
  root.fstype = "xfs";
  root.uuid = "11111111-1111-4111-8111-111111111111";
  root.label = "my root/fs";
  root.mounts = {"/"};
  add(root, {2});
  return storage;
}

BlockDevice device(std::string name, std::string uuid, std::string type = "disk") {
  BlockDevice made;
  made.path = "/dev/" + name;
  made.name = std::move(name);
  made.uuid = std::move(uuid);
  made.type = std::move(type);
  return made;
}

TEST(Storage, Walks) {
  const Storage storage = guest();
  EXPECT_EQ(storage.mounted_at("/"), 3u);
  EXPECT_EQ(storage.mounted_at("/home"), std::nullopt);
  EXPECT_THAT(storage.disks_under(3), ElementsAre(0u));
  EXPECT_THAT(storage.disks_under(0), ElementsAre(0u));
  EXPECT_THAT(storage.pvs_under(3), ElementsAre(2u));
  EXPECT_THAT(storage.below(3), ElementsAre(2u, 0u));
  EXPECT_EQ(storage.logical_volume("rl", "root"), 3u);
  EXPECT_EQ(storage.logical_volume("rl", "old"), std::nullopt);
  EXPECT_EQ(storage.volume_under(3), 3u);
  EXPECT_EQ(storage.volume_under(2), std::nullopt);
  EXPECT_THAT(storage.disks_under(99), IsEmpty());
  EXPECT_THAT(storage.pvs_under(99), IsEmpty());
}

TEST(Storage, ParentsOutOfRangeAreNoParents) {
  Storage storage = guest();
  storage.devices[0].parents = {77};
  EXPECT_THAT(storage.disks_under(3), IsEmpty());
  EXPECT_THAT(storage.below(3), ElementsAre(2u, 0u));
}

TEST(Storage, TheVolumeUnderAnEncryptedRoot) {
  Storage storage = guest();
  BlockDevice luks = device("dm-5", "", "crypt");
  luks.dm_name = "luks-1-2-3";
  luks.parents = {3};
  storage.devices.push_back(luks);
  EXPECT_EQ(storage.volume_under(4), 3u);
}

TEST(Storage, EverySpellingLeadsToItsDevice) {
  const Storage storage = guest();
  for (const char* spec :
       {"UUID=11111111-1111-4111-8111-111111111111",
        "UUID=\"11111111-1111-4111-8111-111111111111\"",
        "\"UUID=11111111-1111-4111-8111-111111111111\"",
        "/dev/disk/by-uuid/11111111-1111-4111-8111-111111111111", "/dev/mapper/rl-root",
        "/dev/rl/root", "/dev//rl///root", "/dev/dm-0", "LABEL=my root/fs", "LABEL='my root/fs'",
        "/dev/disk/by-label/my\\x20root\\x2ffs", "/dev/disk/by-id/dm-name-rl-root",
        "ID=dm-name-rl-root"})
    EXPECT_THAT(storage.resolve(spec), ElementsAre(3u)) << spec;
  EXPECT_THAT(storage.resolve("/dev/disk/by-id/dm-uuid-LVM-" + std::string(64, 'x')),
              ElementsAre(3u));
  for (const char* spec : {"UUID=abcd-1234", "UUID=ABCD-1234", "PARTLABEL=EFI System Partition",
                           "/dev/vda1", "/dev/disk/by-partlabel/EFI\\x20System\\x20Partition",
                           "/dev/disk/by-id/virtio-BHYVE-1234-part1"})
    EXPECT_THAT(storage.resolve(spec), ElementsAre(1u)) << spec;
  for (const char* spec :
       {"PARTUUID=44444444-03", "/dev/disk/by-partuuid/44444444-03", "/dev/block/252:3",
        "/dev/vda3", "/dev/disk/by-id/lvm-pv-uuid-AbCdEf-0123-4567-89ab-cdef-0123-456789"})
    EXPECT_THAT(storage.resolve(spec), ElementsAre(2u)) << spec;
  EXPECT_THAT(storage.resolve("/dev/disk/by-id/virtio-BHYVE-1234"), ElementsAre(0u));
}

TEST(Storage, WhatLeadsNowhere) {
  const Storage storage = guest();
  for (const char* spec : {"", "UUID=", "LABEL=", "UUID=none", "/dev/", "/dev/vda9",
                           "/dev/rl/rootx", "/dev/mapper/", "/dev/disk/by-path/pci-0000:00:02.0",
                           "/dev/disk/by-id/virtio-", "/dev/disk/by-id/virtio--part1",
                           "/dev/disk/by-id/virtio-BHYVE-1234-part99999999999999999999", "tmpfs",
                           "none", "server:/export", "root", "/dev/disk/by-uuid/", "UUID=\"",
                           "/dev/md/0", "/dev/a/b/c", "//server/share",
                           // A PV's UUID is no file system's: udev makes no by-uuid link for it.
                           "UUID=AbCdEf-0123-4567-89ab-cdef-0123-456789"})
    EXPECT_THAT(storage.resolve(spec), IsEmpty()) << spec;
}

TEST(Storage, SpecificationsTakenApart) {
  const auto kind = [](std::string_view spec) { return parse_device_spec(spec).kind; };
  EXPECT_EQ(kind("/dev/disk/by-path/x"), SpecKind::by_path);
  EXPECT_EQ(kind("/dev/vda3"), SpecKind::kernel);
  EXPECT_EQ(kind("/dev/block/1:2"), SpecKind::number);
  EXPECT_EQ(kind("/dev/rl/root"), SpecKind::volume);
  EXPECT_EQ(kind("/dev/nfs"), SpecKind::other);
  EXPECT_EQ(kind("nfs:server:/x"), SpecKind::other);
  EXPECT_EQ(kind("uuid=x"), SpecKind::other);  // tags are upper case
  EXPECT_EQ(parse_device_spec("/dev/disk/by-label/a\\x2").value, "a\\x2");
  EXPECT_EQ(parse_device_spec("LABEL=a\\x20b").value, "a\\x20b");
}

TEST(Storage, ClonesAreAllNamed) {
  Storage storage = guest();
  storage.devices.push_back(device("vdb", "11111111-1111-4111-8111-111111111111"));
  EXPECT_THAT(storage.resolve("UUID=11111111-1111-4111-8111-111111111111"), ElementsAre(3u, 4u));
}

TEST(Storage, LegsOfAMirrorAndPathsOfAMultipathDeviceAreNoClones) {
  Storage storage;
  storage.devices = {device("sda", "u"), device("sdb", "u"), device("dm-0", "u", "mpath")};
  storage.devices[2].parents = {0, 1};
  EXPECT_THAT(storage.with_uuid("U"), ElementsAre(2u));
  EXPECT_THAT(storage.resolve("UUID=u"), ElementsAre(2u));
}

TEST(Storage, ASnapshotDoesNotRivalItsOrigin) {
  Storage storage;
  storage.devices = {device("dm-2", "u", "lvm"), device("dm-0", "u", "lvm"),
                     device("dm-1", "u", "lvm")};
  storage.devices[0].dm_name = "rl-root-real";
  storage.devices[1].dm_name = "rl-root";
  storage.devices[2].dm_name = "rl-snap";
  storage.devices[1].parents = storage.devices[2].parents = {0};
  EXPECT_THAT(storage.resolve("UUID=u"), ElementsAre(1u));
  EXPECT_FALSE(storage.devices[0].is_logical_volume());
}

TEST(Storage, LoopDevicesAreNoRivalsButCanBeTheGuest) {
  Storage storage;
  storage.devices = {device("vda", "u"), device("loop0", "u", "loop")};
  EXPECT_THAT(storage.resolve("UUID=u"), ElementsAre(0u));
  storage.devices.erase(storage.devices.begin());
  EXPECT_THAT(storage.resolve("UUID=u"), ElementsAre(0u));
}

TEST(Storage, PvsOfAVolumeOnSeveralDisks) {
  Storage storage = guest();
  BlockDevice second = device("loop1", "p", "loop");
  second.fstype = "LVM2_member";
  storage.devices.push_back(second);
  storage.devices[3].parents.push_back(4);
  EXPECT_THAT(storage.pvs_under(3), ElementsAre(2u, 4u));
  EXPECT_THAT(storage.disks_under(3), ElementsAre(4u, 0u));
}

TEST(Storage, VirtioAndNvmeByNameOrTransport) {
  EXPECT_TRUE(device("vda", "").is_virtio());
  EXPECT_TRUE(device("vdab12", "").is_virtio());
  EXPECT_FALSE(device("vd", "").is_virtio());
  EXPECT_FALSE(device("vda3x", "").is_virtio());
  EXPECT_FALSE(device("vdo-1", "").is_virtio());
  EXPECT_FALSE(device("sda", "").is_virtio());
  EXPECT_TRUE(device("nvme0n1p3", "").is_nvme());
  EXPECT_FALSE(device("", "").is_virtio());
  EXPECT_FALSE(device("", "").is_nvme());
}

TEST(Storage, WhatLvmKeepsForItselfIsNoVolume) {
  const auto lv = [](std::string dm_name) {
    BlockDevice made = device("dm-9", "", "lvm");
    made.dm_name = std::move(dm_name);
    return made.is_logical_volume();
  };
  EXPECT_TRUE(lv("rl-root"));
  EXPECT_TRUE(lv("my--vg-my--lv"));
  for (const char* name : {"rl-root-real", "rl-snap-cow", "rl-pool-tpool", "rl-pool_tdata",
                           "rl-root_rimage_0", "", "nodash"})
    EXPECT_FALSE(lv(name)) << name;
}

// libdevmapper's own functions are the oracle.
TEST(DmName, AgreesWithLibdevmapper) {
  dm_pool* pool = dm_pool_create("names", 1024);
  ASSERT_NE(pool, nullptr);
  for (const auto& [vg, lv] : std::vector<std::pair<std::string, std::string>>{{"rl", "root"},
                                                                               {"my-vg", "root"},
                                                                               {"my-vg", "root-lv"},
                                                                               {"a-", "b"},
                                                                               {"a--b", "c--d"},
                                                                               {"-a", "b"},
                                                                               {"v.g_+1", "l+v"}}) {
    const char* built = dm_build_dm_name(pool, vg.c_str(), lv.c_str(), nullptr);
    ASSERT_NE(built, nullptr);
    EXPECT_EQ(dm_name_of(vg, lv), built);
    const auto split = split_dm_name(built);
    ASSERT_TRUE(split) << built;
    EXPECT_EQ(split->vg, vg);
    EXPECT_EQ(split->lv, lv);
  }
  dm_pool_destroy(pool);
}

TEST(DmName, NamesThatNoVolumeHas) {
  for (const char* name :
       {"", "-", "a", "a-", "-b", "a--b", "luks-1234-5678", "rl-root-real", "--"})
    EXPECT_FALSE(split_dm_name(name)) << name;
}

}  // namespace
}  // namespace preflight
