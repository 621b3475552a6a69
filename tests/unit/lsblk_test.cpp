// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/facts/storage.h"
#include "agent/guest/command.h"

namespace preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// EL 9 and 10 (util-linux 2.37, 2.40): numbers are numbers, "mountpoints" is an array.
constexpr std::string_view el9 = R"({"blockdevices": [
  {"name":"vda","kname":"vda","path":"/dev/vda","maj:min":"252:0","type":"disk","tran":"virtio",
   "serial":"BHYVE-1234-5678-9ABC","log-sec":512,"fstype":null,"mountpoint":null,
   "mountpoints":[null],"children":[
    {"name":"vda1","kname":"vda1","path":"/dev/vda1","maj:min":"252:1","pkname":"vda","type":"part",
     "fstype":"vfat","uuid":"ABCD-1234","partuuid":"44444444-01","mountpoint":"/boot/efi",
     "mountpoints":["/boot/efi"],"log-sec":512,"tran":null},
    {"name":"vda3","kname":"vda3","path":"/dev/vda3","maj:min":"252:3","pkname":"vda","type":"part",
     "fstype":"LVM2_member","uuid":"AbCdEf-0123-4567-89ab-cdef-0123-456789","mountpoints":[null],
     "children":[
      {"name":"rl-root","kname":"dm-0","path":"/dev/mapper/rl-root","maj:min":"253:0","pkname":"vda3",
       "type":"lvm","fstype":"xfs","uuid":"1111-a","label":"root","mountpoint":"/",
       "mountpoints":["/","/srv/bound",null]},
      {"name":"rl-swap","kname":"dm-1","path":"/dev/mapper/rl-swap","maj:min":"253:1","pkname":"vda3",
       "type":"lvm","fstype":"swap","uuid":"3333-c","mountpoint":"[SWAP]","mountpoints":["[SWAP]"]}]}]},
  {"name":"vdb","kname":"vdb","path":"/dev/vdb","maj:min":"252:16","type":"disk","tran":"virtio",
   "fstype":"LVM2_member","uuid":"zzz","log-sec":4096,"children":[
      {"name":"rl-root","kname":"dm-0","path":"/dev/mapper/rl-root","maj:min":"253:0","pkname":"vdb",
       "type":"lvm","fstype":"xfs","uuid":"1111-a","mountpoint":"/","mountpoints":["/"]}]}
]})";

// EL 8 (util-linux 2.32): every value is a string, there is no PATH column and no array.
constexpr std::string_view el8 = R"({"blockdevices": [
  {"name":"vda","kname":"vda","maj:min":"252:0","fstype":null,"mountpoint":null,"label":null,
   "uuid":null,"rm":"0","log-sec":"512","type":"disk","serial":"BHYVE-1","tran":"virtio","children":[
    {"name":"vda2","kname":"vda2","maj:min":"252:2","fstype":"LVM2_member","mountpoint":null,
     "log-sec":"512","type":"part","pkname":"vda","children":[
      {"name":"my--vg-root","kname":"dm-0","maj:min":"253:0","fstype":"xfs","mountpoint":"/",
       "uuid":"u","log-sec":"512","type":"lvm","pkname":"vda2"}]}]}]})";

Storage parse(std::string_view text) {
  Result<Storage> storage = parse_lsblk("lsblk.json", text);
  EXPECT_TRUE(storage) << storage.error().message();
  return storage.value_or(Storage{});
}

std::size_t index_of(const Storage& storage, std::string_view name) {
  for (std::size_t i = 0; i < storage.devices.size(); ++i)
    if (storage.devices[i].name == name) return i;
  ADD_FAILURE() << "no device " << name;
  return 0;
}

TEST(Lsblk, NestedListingOfEl9) {
  const Storage storage = parse(el9);
  EXPECT_EQ(storage.source, "lsblk.json");
  ASSERT_EQ(storage.devices.size(), 6u);  // rl-root is printed twice and is one device
  const BlockDevice& root = storage.devices[index_of(storage, "dm-0")];
  EXPECT_EQ(root.dm_name, "rl-root");
  EXPECT_EQ(root.path, "/dev/mapper/rl-root");
  EXPECT_EQ(root.dm_uuid, "");
  EXPECT_EQ(root.number, "253:0");
  EXPECT_EQ(root.label, "root");
  EXPECT_THAT(root.mounts, ElementsAre("/", "/srv/bound"));
  EXPECT_THAT(root.parents, ElementsAre(index_of(storage, "vda3"), index_of(storage, "vdb")));
  const BlockDevice& disk = storage.devices[index_of(storage, "vda")];
  EXPECT_EQ(disk.serial, "BHYVE-1234-5678-9ABC");
  EXPECT_EQ(disk.sector_size, 512u);
  EXPECT_TRUE(disk.is_virtio());
  EXPECT_THAT(disk.mounts, IsEmpty());
  EXPECT_EQ(storage.devices[index_of(storage, "vdb")].sector_size, 4096u);
  EXPECT_THAT(storage.devices[index_of(storage, "dm-1")].mounts, ElementsAre("[SWAP]"));
}

TEST(Lsblk, StringsAndMissingColumnsOfEl8) {
  const Storage storage = parse(el8);
  ASSERT_EQ(storage.devices.size(), 3u);
  const BlockDevice& root = storage.devices[2];
  EXPECT_EQ(root.name, "dm-0");
  EXPECT_EQ(root.path, "/dev/mapper/my--vg-root");
  EXPECT_EQ(root.dm_name, "my--vg-root");
  EXPECT_EQ(root.sector_size, 512u);
  EXPECT_EQ(storage.mounted_at("/"), 2u);
  EXPECT_EQ(storage.devices[1].path, "/dev/vda2");
}

TEST(Lsblk, FlatListingTellsParentsByPkname) {
  const Storage storage = parse(R"({"blockdevices":[
    {"name":"rl-root","kname":"dm-0","type":"lvm","pkname":"vda3","mountpoint":"/"},
    {"name":"vda","type":"disk"},{"name":"vda3","type":"part","pkname":"vda"}]})");
  EXPECT_THAT(storage.disks_under(0), ElementsAre(1u));
}

TEST(Lsblk, CcissAndUnderscoredColumns) {
  const Storage storage =
      parse(R"({"blockdevices":[{"name":"cciss!c0d0","log_sec":4096,"serial":12345}]})");
  EXPECT_EQ(storage.devices[0].path, "/dev/cciss/c0d0");
  EXPECT_EQ(storage.devices[0].sector_size, 4096u);
  EXPECT_EQ(storage.devices[0].serial, "12345");
}

TEST(Lsblk, WhatIsNoListingIsAnErrorWithTheFilesName) {
  for (const std::string_view text :
       {"", "{", "[]", "null", "{}", R"({"blockdevices":7})", R"({"blockdevices":[7]})",
        R"({"blockdevices":[{}]})", R"({"blockdevices":[{"name":""}]})",
        R"({"blockdevices":[{"name":"a","children":"b"}]})",
        "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\nvda 252:0 0 20G 0 disk\n"}) {
    const Result<Storage> storage = parse_lsblk("/tmp/disks.json", text);
    ASSERT_FALSE(storage) << text;
    EXPECT_EQ(storage.error().kind, ErrorKind::malformed) << text;
    EXPECT_THAT(storage.error().message(), HasSubstr("/tmp/disks.json"));
  }
}

TEST(Lsblk, OddTypesOfValuesAreNoValues) {
  const Storage storage = parse(
      R"({"blockdevices":[{"name":"vda","uuid":7,"log-sec":-1,"mountpoints":"x","mountpoint":[],
          "type":{},"children":null},{"name":"vdb","log-sec":99999999999999999999}]})");
  EXPECT_EQ(storage.devices[0].uuid, "");
  EXPECT_EQ(storage.devices[0].sector_size, 0u);
  EXPECT_THAT(storage.devices[0].mounts, IsEmpty());
  EXPECT_EQ(storage.devices[1].sector_size, 0u);
}

TEST(Lsblk, CyclesEnd) {
  const Storage storage = parse(R"({"blockdevices":[{"name":"a","uuid":"u","children":[
    {"name":"b","uuid":"u","children":[{"name":"a","children":[{"name":"b"}]}]}]}]})");
  ASSERT_EQ(storage.devices.size(), 2u);
  EXPECT_THAT(storage.disks_under(0), IsEmpty());
  EXPECT_THAT(storage.pvs_under(1), IsEmpty());
  EXPECT_EQ(storage.with_uuid("u").size(), 2u);
}

TEST(Lsblk, DeepNestingIsRefused) {
  std::string text = R"({"blockdevices":[)";
  for (int i = 0; i < 1000; ++i) text += fmt::format(R"({{"name":"d{}","children":[)", i);
  EXPECT_EQ(parse_lsblk("x", text).error().kind, ErrorKind::malformed);
}

TEST(Lsblk, ManyClonesAreWalkedInBoundedTime) {
  constexpr int count = 4000;
  std::string text = R"({"blockdevices":[{"name":"top","uuid":"u","children":[)";
  for (int i = 0; i < count; ++i)
    text += fmt::format(R"({}{{"name":"vd{}","uuid":"u","pkname":"top"}})", i > 0 ? "," : "", i);
  const Storage storage = parse(text + "]}]}");
  EXPECT_EQ(storage.devices.size(), count + 1u);
  EXPECT_EQ(storage.with_uuid("U").size(), std::size_t{count});
  EXPECT_EQ(storage.resolve("UUID=u").size(), std::size_t{count});
}

TEST(Lsblk, MoreDevicesThanAnyMachineHasAreRefused) {
  std::string text = R"({"blockdevices":[{"name":"0"})";
  for (int i = 1; i <= 4096; ++i) text += fmt::format(R"(,{{"name":"{}"}})", i);
  EXPECT_EQ(parse_lsblk("x", text + "]}").error().kind, ErrorKind::too_large);
}

TEST(Lsblk, TheRealToolOfThisMachine) {
  Command command;
  command.argv = {"/usr/bin/lsblk", "--json", "--bytes", "--output-all"};
  command.environment = {"PATH=/usr/bin"};
  const Result<CommandOutput> output = run(command);
  if (!output || output->exit_status != 0) GTEST_SKIP() << "no lsblk that prints JSON here";
  const Storage storage = parse(output->out);
  if (storage.devices.empty()) GTEST_SKIP() << "lsblk lists no devices here";
  for (const BlockDevice& device : storage.devices) {
    EXPECT_NE(device.name, "");
    EXPECT_THAT(device.path, HasSubstr("/dev/"));
    EXPECT_NE(device.number, "");
    EXPECT_GT(device.sector_size, 0u) << device.name;
  }
}

}  // namespace
}  // namespace preflight
