// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"

namespace preflight {

extern const Check fstab_device_names_check;

namespace {

using testing::ElementsAre;

Facts guest(const std::string& fstab, bool live) {
  Facts facts;
  facts.live = live;
  Storage storage;
  storage.source = "live";
  BlockDevice root;
  root.name = "vda3";
  root.path = "/dev/vda3";
  root.uuid = "1111-AAAA";
  root.fstype = "xfs";
  root.mounts = {"/"};
  storage.devices = {root};
  facts.storage = std::move(storage);
  facts.fstab = parse_fstab("/etc/fstab", fstab);
  return facts;
}

std::vector<Status> statuses(const Facts& facts) {
  std::vector<Status> out;
  for (const Finding& finding : fstab_device_names_check.run(facts)) out.push_back(finding.status);
  return out;
}

TEST(TableDeviceNames, ATagOfNothingIsSureOnTheRunningGuestAlone) {
  const std::string fstab = "UUID=1111-AAAA / xfs\nUUID=2222 /srv xfs\nUUID=3333 /opt xfs nofail\n";
  EXPECT_THAT(statuses(guest(fstab, true)), ElementsAre(Status::warn));
  EXPECT_THAT(statuses(guest(fstab, false)), ElementsAre(Status::pass));
  Facts doubtful = guest(fstab, true);
  doubtful.storage->devices[0].probe_error = Error{ErrorKind::io, "/dev/vda3", 0, "cannot read"};
  EXPECT_THAT(statuses(doubtful), ElementsAre(Status::pass));
}

TEST(TableDeviceNames, ATagOfTwoIsAWarning) {
  Facts facts = guest("LABEL=data /srv xfs\n", false);
  for (const char* name : {"vdb1", "vdc1"}) {
    BlockDevice device;
    device.name = name;
    device.path = std::string("/dev/") + name;
    device.label = "data";
    device.fstype = "xfs";
    facts.storage->devices.push_back(device);
  }
  EXPECT_THAT(statuses(facts), ElementsAre(Status::warn));
  for (BlockDevice& device : facts.storage->devices) device.fstype = "btrfs";
  EXPECT_THAT(statuses(facts), ElementsAre(Status::pass));
}

}  // namespace
}  // namespace preflight
