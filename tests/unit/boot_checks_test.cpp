// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "agent/check.h"

namespace preflight {

extern const Check guest_supported_check;
extern const Check boot_default_entry_check;

namespace {

Facts rocky(const std::string& version = "9.5") {
  Facts facts;
  facts.root = "/";
  facts.live = true;
  facts.privileged = true;
  Release release;
  release.path = "/etc/os-release";
  release.id = "rocky";
  release.id_like = {"rhel", "centos", "fedora"};
  release.version_id = version;
  release.pretty_name = "Rocky Linux " + version;
  release.major = std::atoi(version.c_str());
  facts.release = release;
  Kernel kernel;
  kernel.version = "5.14.0-503.el9.x86_64";
  facts.kernels = std::vector<Kernel>{kernel};
  return facts;
}

BootEntry entry(const std::string& id) {
  BootEntry out;
  out.id = id;
  out.path = "/boot/loader/entries/" + id + ".conf";
  out.kernel = "5.14.0-" + id;
  out.linux_path = "/boot/vmlinuz-" + out.kernel;
  out.initrds = {"/boot/initramfs-" + out.kernel + ".img"};
  return out;
}

BootMenu menu(std::vector<BootEntry> entries, std::optional<std::size_t> chosen) {
  BootMenu out;
  out.entries = std::move(entries);
  out.default_index = chosen;
  out.default_path = "/boot/grub2/grubenv";
  out.default_reason = "saved_entry (/boot/grub2/grubenv:2) names \"x\"";
  if (chosen) out.entries[*chosen].is_default = true;
  return out;
}

Finding supported(const Facts& facts) {
  const auto findings = guest_supported_check.run(facts);
  EXPECT_EQ(findings.size(), 1u);
  return findings.at(0);
}

Storage disks(const std::string& name) {
  Storage storage;
  BlockDevice disk;
  disk.name = name;
  disk.path = "/dev/" + name;
  disk.type = "disk";
  BlockDevice root;
  root.name = "dm-0";
  root.path = "/dev/mapper/rl-root";
  root.type = "lvm";
  root.mounts = {"/"};
  root.parents = {0};
  storage.devices = {disk, root};
  return storage;
}

TEST(GuestSupported, AnElGuestPasses) {
  const Finding found = supported(rocky());
  EXPECT_EQ(found.status, Status::pass);
  EXPECT_NE(found.summary.find("Rocky Linux 9.5"), std::string::npos);
  EXPECT_NE(found.summary.find("5.14.0-503.el9.x86_64"), std::string::npos);
}

TEST(GuestSupported, OtherSystemsFail) {
  Facts facts = rocky();
  facts.release->id = "debian";
  facts.release->id_like.clear();
  EXPECT_EQ(supported(facts).status, Status::fail);
}

TEST(GuestSupported, Releases) {
  EXPECT_EQ(supported(rocky("7.9")).status, Status::fail);
  EXPECT_EQ(supported(rocky("8.10")).status, Status::pass);
  EXPECT_EQ(supported(rocky("10.0")).status, Status::pass);
  EXPECT_EQ(supported(rocky("11.0")).status, Status::unknown);
  Facts facts = rocky();
  facts.release->major = -1;
  EXPECT_EQ(supported(facts).status, Status::unknown);
}

TEST(GuestSupported, NothingThere) {
  Facts facts = rocky();
  facts.release = fail(ErrorKind::missing, "/etc/os-release", "there is no such file");
  EXPECT_EQ(supported(facts).status, Status::unknown);
  EXPECT_NE(supported(facts).summary.find("mounted"), std::string::npos);
  facts.release = fail(ErrorKind::denied, "/etc/os-release", "no");
  EXPECT_EQ(supported(facts).status, Status::unknown);
}

TEST(GuestSupported, NotRoot) {
  Facts facts = rocky();
  facts.privileged = false;
  EXPECT_EQ(supported(facts).status, Status::unknown);
  facts.live = false;
  EXPECT_EQ(supported(facts).status, Status::pass);
}

TEST(GuestSupported, OstreeAndUnifiedImages) {
  Facts facts = rocky();
  BootMenu found = menu({entry("1")}, 0);
  found.ostree = "/run/ostree-booted";
  facts.boot = found;
  EXPECT_EQ(supported(facts).status, Status::unknown);
  found = menu({}, std::nullopt);
  found.unified_kernel_images = {"/boot/efi/EFI/Linux/x.efi"};
  facts.boot = found;
  EXPECT_EQ(supported(facts).status, Status::unknown);
  found.entries = {entry("1")};
  facts.boot = found;
  EXPECT_EQ(supported(facts).status, Status::pass);
}

TEST(GuestSupported, AlreadyOnNvme) {
  Facts facts = rocky();
  facts.storage = disks("nvme0n1");
  EXPECT_EQ(supported(facts).status, Status::warn);
  facts.storage = disks("vda");
  EXPECT_EQ(supported(facts).status, Status::pass);
}

TEST(DefaultEntry, Passes) {
  Facts facts = rocky();
  facts.boot = menu({entry("2"), entry("1")}, 0);
  const auto found = boot_default_entry_check.run(facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].status, Status::pass);
  EXPECT_EQ(found[0].subject, "2");
}

TEST(DefaultEntry, MissingFilesFail) {
  Facts facts = rocky();
  BootEntry broken = entry("2");
  broken.kernel_error = Error{ErrorKind::missing, broken.linux_path, 0, "no such file"};
  facts.boot = menu({broken, entry("1")}, 0);
  auto found = boot_default_entry_check.run(facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].status, Status::fail);
  EXPECT_EQ(found[0].evidence.at(0).path, broken.linux_path);
  ASSERT_TRUE(found[0].remedy);
  EXPECT_EQ(found[0].remedy->fix, "");
  EXPECT_EQ(found[0].remedy->command.back(), "/boot/vmlinuz-5.14.0-1");

  broken.kernel_error.reset();
  broken.initrd_errors[broken.initrds[0]] = Error{ErrorKind::missing, broken.initrds[0], 0, "gone"};
  facts.boot = menu({broken}, 0);
  found = boot_default_entry_check.run(facts);
  EXPECT_EQ(found[0].status, Status::fail);
  EXPECT_EQ(found[0].remedy->command.front(), "dracut");
}

TEST(DefaultEntry, WhatMayNotBeReadIsUnknown) {
  Facts facts = rocky();
  BootEntry hidden = entry("2");
  hidden.initrd_errors[hidden.initrds[0]] = Error{ErrorKind::denied, hidden.initrds[0], 0, "no"};
  facts.boot = menu({hidden}, 0);
  EXPECT_EQ(boot_default_entry_check.run(facts)[0].status, Status::unknown);
  hidden.kernel_error = Error{ErrorKind::missing, hidden.linux_path, 0, "gone"};
  facts.boot = menu({hidden}, 0);
  EXPECT_EQ(boot_default_entry_check.run(facts)[0].status, Status::fail);
}

TEST(DefaultEntry, NoInitrdLineIsNotThisChecksBusiness) {
  Facts facts = rocky();
  BootEntry bare = entry("1");
  bare.initrds.clear();
  facts.boot = menu({bare}, 0);
  EXPECT_EQ(boot_default_entry_check.run(facts)[0].status, Status::pass);
}

TEST(DefaultEntry, OtherBrokenEntriesAreMentionedOnly) {
  Facts facts = rocky();
  BootEntry broken = entry("1");
  broken.kernel_error = Error{ErrorKind::missing, broken.linux_path, 0, "gone"};
  facts.boot = menu({entry("2"), broken}, 0);
  const auto found = boot_default_entry_check.run(facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].status, Status::pass);
  EXPECT_NE(found[0].summary.find("1 other entry"), std::string::npos);
}

TEST(DefaultEntry, BothDefaultsOfAOneShotAreJudged) {
  Facts facts = rocky();
  BootEntry later = entry("1");
  later.is_default = true;
  later.kernel_error = Error{ErrorKind::missing, later.linux_path, 0, "gone"};
  facts.boot = menu({entry("2"), later}, 0);
  const auto found = boot_default_entry_check.run(facts);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].status, Status::pass);
  EXPECT_EQ(found[1].status, Status::fail);
}

TEST(DefaultEntry, UndeterminedJudgesEveryEntry) {
  Facts facts = rocky();
  BootEntry broken = entry("1");
  broken.kernel_error = Error{ErrorKind::missing, broken.linux_path, 0, "gone"};
  facts.boot = menu({entry("2"), broken}, std::nullopt);
  const auto found = boot_default_entry_check.run(facts);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].status, Status::warn);
  EXPECT_EQ(found[1].status, Status::fail);
  EXPECT_EQ(found[1].subject, "1");
}

TEST(DefaultEntry, NothingToJudgeIsUnknown) {
  Facts facts = rocky();
  facts.boot = fail(ErrorKind::missing, "/boot/loader/entries", "no such directory");
  EXPECT_EQ(boot_default_entry_check.run(facts).at(0).status, Status::unknown);
  facts.boot = menu({}, std::nullopt);
  EXPECT_EQ(boot_default_entry_check.run(facts).at(0).status, Status::unknown);
}

TEST(BootChecks, NothingCollectedNeverPasses) {
  const Facts facts;
  for (const Check* check : {&guest_supported_check, &boot_default_entry_check})
    for (const Finding& found : check->run(facts)) EXPECT_EQ(found.status, Status::unknown);
}

}  // namespace
}  // namespace preflight
