// SPDX-License-Identifier: MIT
// crypttab.device-names: a mapping that nothing of the boot needs is no reason to stay on virtio.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/check.h"
#include "agent/facts/facts.h"
#include "agent/formats/fstab.h"

namespace preflight {

extern const Check crypttab_device_names_check;

namespace {

/// vda3 is root, vda4 carries the mapping "data", which is open.
class CrypttabDeviceNames : public testing::Test {
 protected:
  CrypttabDeviceNames() {
    Storage storage;
    BlockDevice disk, root, crypt, mapping;
    disk.name = "vda", disk.path = "/dev/vda", disk.type = "disk";
    root.name = "vda3", root.path = "/dev/vda3", root.type = "part", root.uuid = "1111-root";
    crypt.name = "vda4", crypt.path = "/dev/vda4", crypt.type = "part", crypt.uuid = "2222-luks";
    mapping.name = "dm-0", mapping.path = "/dev/mapper/data", mapping.type = "crypt";
    mapping.dm_name = "data", mapping.uuid = "3333-data", mapping.fstype = "xfs";
    root.fstype = "xfs", crypt.fstype = "crypto_LUKS";
    root.parents = crypt.parents = {0};
    mapping.parents = {2};
    storage.devices = {disk, root, crypt, mapping};
    facts_.storage = storage;
    facts_.crypttab = parse_crypttab("/etc/crypttab", "data /dev/vda4 none luks\n");
  }

  Status with_fstab(const std::string& lines) {
    facts_.fstab = parse_fstab("/etc/fstab", "UUID=1111-root / xfs defaults 0 0\n" + lines);
    const std::vector<Finding> findings = crypttab_device_names_check.run(facts_);
    EXPECT_EQ(findings.size(), 1u);
    return findings.front().status;
  }

  Facts facts_;
};

TEST_F(CrypttabDeviceNames, OnlyWhatFstabNeedsStopsTheBoot) {
  EXPECT_EQ(with_fstab(""), Status::warn);
  EXPECT_EQ(with_fstab("tmpfs /tmp tmpfs defaults 0 0\n"), Status::warn);
  EXPECT_EQ(with_fstab("/dev/mapper/data /srv xfs defaults 0 0\n"), Status::fail);
  EXPECT_EQ(with_fstab("UUID=3333-data /srv xfs defaults 0 0\n"), Status::fail);
  EXPECT_EQ(with_fstab("/dev/mapper/data /srv xfs nofail 0 0\n"), Status::warn);
}

TEST_F(CrypttabDeviceNames, WhatCannotBeToldCountsAsNeeded) {
  // It leads nowhere today: it may lie on the mapping, which may be closed.
  EXPECT_EQ(with_fstab("UUID=4444-gone /srv xfs defaults 0 0\n"), Status::fail);
  facts_.storage->devices[3].fstype = "LVM2_member";
  EXPECT_EQ(with_fstab(""), Status::fail);
  facts_.storage = tl::unexpected(Error{ErrorKind::missing, "", 0, "no disks"});
  EXPECT_EQ(with_fstab(""), Status::fail);
}

}  // namespace
}  // namespace preflight
