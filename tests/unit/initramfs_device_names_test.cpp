// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"
#include "tests/support/boot_facts.h"

namespace preflight {

extern const Check initramfs_device_names_check;

namespace {

using testing::entry_of;
using testing::facts_with;
using ::testing::HasSubstr;
using testing::nvme_image;
using testing::put;
using testing::put_link;
using testing::put_unread;

Finding run(const Facts& facts) {
  const std::vector<Finding> findings = initramfs_device_names_check.run(facts);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings.front();
}

Finding with_file(const std::string& path, std::string content,
                  std::string options = "root=UUID=0a3407de-014b-458b-b5c1-848e92a327a3") {
  Image image = nvme_image();
  put(image, path, std::move(content));
  return run(facts_with(std::move(image), {entry_of("default", std::move(options))}));
}

TEST(InitramfsDeviceNames, NothingToWaitForPasses) {
  EXPECT_EQ(run(facts_with(nvme_image(), {entry_of("default", "ro")})).status, Status::pass);
}

TEST(InitramfsDeviceNames, AHookThatWaits) {
  const Finding finding =
      with_file("usr/lib/dracut/hooks/initqueue/finished/devexists-\\x2fdev\\x2fvda3.sh",
                "[ -e \"/dev/vda3\" ]\n");
  EXPECT_EQ(finding.status, Status::fail);
  ASSERT_EQ(finding.evidence.size(), 1u);
  EXPECT_THAT(finding.evidence[0].path, HasSubstr(".img:usr/lib/dracut/hooks/initqueue/finished/"));
  EXPECT_EQ(finding.evidence[0].line, 1);
  ASSERT_TRUE(finding.remedy);
  EXPECT_EQ(finding.remedy->fix, "rebuild-initramfs");
}

TEST(InitramfsDeviceNames, AHooksNameCountsWithoutItsContent) {
  const Finding finding = with_file(
      "var/lib/dracut/hooks/initqueue/finished/"
      "devexists-\\x2fdev\\x2fdisk\\x2fby-path\\x2fpci-0000:00:04.0-part3.sh",
      "");
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.summary, HasSubstr("/dev/disk/by-path/pci-0000:00:04.0-part3"));
}

TEST(InitramfsDeviceNames, LastingNamesPass) {
  Image image = nvme_image();
  put(image, "usr/lib/dracut/hooks/initqueue/finished/devexists-\\x2fdev\\x2fmapper\\x2frl-root.sh",
      "[ -e \"/dev/mapper/rl-root\" ]\n");
  put(image, "usr/lib/dracut/hooks/initqueue/finished/wait-network.sh", "test -e /dev/vda\n");
  put(image, "etc/cmdline.d/95root-dev.conf", "root=/dev/disk/by-uuid/0a3407de\n");
  put(image, "etc/crypttab", "luks-1 UUID=0a3407de-014b-458b-b5c1-848e92a327a3 none\n");
  put_link(image,
           "etc/systemd/system/initrd.target.wants/dev-disk-by\\x2duuid-0a34\\x2d014b.device",
           "../x");
  EXPECT_EQ(run(facts_with(image, {entry_of("default", "ro")})).status, Status::pass);
}

TEST(InitramfsDeviceNames, UnitsThatNeedADevice) {
  for (const char* path :
       {"etc/systemd/system/initrd.target.wants/dev-vda3.device",
        "etc/systemd/system/local-fs.target.requires/dev-vda3.device",
        "usr/lib/systemd/system/x.target.wants/dev-disk-by\\x2did-virtio\\x2dBHYVE.device"}) {
    Image image = nvme_image();
    put_link(image, path, "../dev-vda3.device");
    EXPECT_EQ(run(facts_with(image, {entry_of("default", "ro")})).status, Status::fail) << path;
  }
  Image image = nvme_image();
  put(image, "etc/systemd/system/dev-vda3.device.d/timeout.conf", "[Unit]\n");
  EXPECT_EQ(run(facts_with(image, {entry_of("default", "ro")})).status, Status::pass);
}

TEST(InitramfsDeviceNames, CommandLineFilesCountUnlessTheEntryOverridesThem) {
  const std::string path = "etc/cmdline.d/95root-dev.conf";
  EXPECT_EQ(with_file(path, "\nroot=block:/dev/vda3\n", "ro").status, Status::fail);
  EXPECT_EQ(with_file(path, "root=/dev/vda3\n").status, Status::pass) << "the entry has a root=";
  EXPECT_EQ(with_file(path, "resume=/dev/vda2\n").status, Status::fail);
  EXPECT_EQ(with_file(path, "rd.luks.key=/key:/dev/vdb1\n", "rd.luks.key=x").status, Status::fail);
  EXPECT_EQ(with_file("etc/cmdline", "boot=/dev/vda1\n").evidence.at(0).line, 1);
  EXPECT_EQ(with_file("etc/cmdline.d/x.txt", "resume=/dev/vda2\n").status, Status::pass);
}

TEST(InitramfsDeviceNames, TablesInTheImage) {
  EXPECT_EQ(with_file("etc/crypttab", "luks /dev/vda3 none\n").status, Status::fail);
  EXPECT_EQ(with_file("etc/crypttab", "luks /dev/vda3 none nofail\n").status, Status::pass);
  EXPECT_EQ(with_file("etc/fstab", "# x\n/dev/vda4 /usr xfs defaults 0 0\n").evidence.at(0).line,
            2);
  EXPECT_EQ(with_file("etc/fstab.empty", "/dev/vda4 /usr xfs defaults 0 0\n").status, Status::pass);
}

TEST(InitramfsDeviceNames, WhatWasNotReadIsNoPass) {
  Image image = nvme_image();
  put_unread(image, "etc/crypttab");
  EXPECT_EQ(run(facts_with(image, {entry_of("default", "ro")})).status, Status::unknown);
  Image packed = nvme_image();
  packed.opaque_parts = {"squashfs-root.img"};
  EXPECT_EQ(run(facts_with(packed, {entry_of("default", "ro")})).status, Status::unknown);
}

TEST(InitramfsDeviceNames, ARebuildThatWouldBringItBackIsNotOffered) {
  Image image = nvme_image();
  put(image, "usr/lib/dracut/hooks/initqueue/finished/devexists-\\x2fdev\\x2fvdb.sh", "");
  Facts facts = facts_with(image, {entry_of("default", "ro")});
  DracutConfig config;
  config.variables["add_device"] = {" /dev/vdb ",
                                    {{"/etc/dracut.conf.d/x.conf", 3, true, " /dev/vdb ", true}}};
  facts.dracut = config;
  const Finding finding = run(facts);
  EXPECT_EQ(finding.remedy->fix, "");
  EXPECT_THAT(finding.remedy->text, HasSubstr("/etc/dracut.conf.d/x.conf:3"));
  EXPECT_EQ(finding.evidence.back().line, 3);
}

TEST(InitramfsDeviceNames, AnotherEntrysImageOnlyWarns) {
  Facts facts = facts_with(nvme_image(), {entry_of("a", "ro"), entry_of("b", "ro", false)});
  facts.boot->entries[1].initrds = {"/boot/other.img"};
  Image image = nvme_image();
  put(image, "etc/cmdline.d/r.conf", "resume=/dev/vda2");
  facts.images.emplace("/boot/other.img", image);
  const auto findings = initramfs_device_names_check.run(facts);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::warn);
  EXPECT_EQ(findings[1].subject, "/boot/other.img");
}

}  // namespace
}  // namespace preflight
