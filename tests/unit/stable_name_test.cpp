// SPDX-License-Identifier: MIT
#include "agent/facts/stable_name.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

TEST(WhyItChangesTest, NamesOfTheOldController) {
  for (const char* name : {"/dev/vda", "/dev/vda3", "/dev/vdaa12", "/dev//vda1",
                           "/dev/disk/by-id/virtio-BHYVE-1234-part2",
                           "/dev/disk/by-path/pci-0000:00:04.0-part1", "/dev/block/254:3"})
    EXPECT_TRUE(why_it_changes(name)) << name;
}

TEST(WhyItChangesTest, NamesThatSurvive) {
  for (const char* name :
       {"UUID=1", "LABEL=vda1", "PARTUUID=1-02", "PARTLABEL=x", "/dev/mapper/rl-root",
        "/dev/rl/root", "/dev/vdx_pool", "/dev/vd", "/dev/sda1", "/dev/nvme0n1p1", "/dev/vda1x",
        "tmpfs", "/dev/vg/vda1", "/dev/disk/by-uuid/1", "/dev/disk/by-id/dm-uuid-LVM-abc",
        "server:/dev/vda1", ""})
    EXPECT_FALSE(why_it_changes(name)) << name;
}

TEST(DeviceOfUnitTest, UndoesSystemdsEscapes) {
  EXPECT_EQ(device_of_unit("dev-vda3.device"), "/dev/vda3");
  EXPECT_EQ(device_of_unit("dev-vda4.swap"), "/dev/vda4");
  EXPECT_EQ(device_of_unit("dev-disk-by\\x2did-virtio\\x2dX.device"), "/dev/disk/by-id/virtio-X");
  EXPECT_EQ(device_of_unit("home.mount"), "");
}

Storage two_disks() {
  Storage storage;
  BlockDevice root;
  root.name = "vda1";
  root.path = "/dev/vda1";
  root.type = "part";
  root.fstype = "xfs";
  root.uuid = "aaaa";
  root.label = "root";
  BlockDevice ten = root;
  ten.name = "vda10";
  ten.path = "/dev/vda10";
  ten.uuid = "bbbb";
  ten.label = "";
  storage.devices = {root, ten};
  return storage;
}

TEST(StableNameTest, IsTheUuidNeverTheLabel) {
  const Result<Storage> storage = two_disks();
  EXPECT_EQ(stable_name(storage, "/dev/vda1").value(), "UUID=aaaa");
  EXPECT_EQ(stable_name(storage, "/dev/vda10").value(), "UUID=bbbb");
}

TEST(StableNameTest, RefusesAUuidThatIsNoPlainWord) {
  for (const char* uuid : {"a b", "a\n/dev/sdb", "a\"", "$x", "a\\040", "a#"}) {
    Storage storage = two_disks();
    storage.devices[1].uuid = uuid;
    const auto name = stable_name(storage, "/dev/vda10");
    ASSERT_FALSE(name) << uuid;
    EXPECT_EQ(name.error().kind, ErrorKind::unsupported);
  }
}

TEST(StableNameTest, RefusesWhatIsNotUnique) {
  Storage storage = two_disks();
  storage.devices[1].uuid = "aaaa";
  const Result<Storage> known = storage;
  EXPECT_FALSE(stable_name(known, "/dev/vda1"));
  EXPECT_FALSE(stable_name(known, "/dev/vda7"));
  storage.devices[1].uuid = "";
  EXPECT_FALSE(stable_name(Result<Storage>(storage), "/dev/vda10"));
}

}  // namespace
}  // namespace preflight
