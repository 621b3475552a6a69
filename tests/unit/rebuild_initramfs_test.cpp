// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "agent/step.h"

namespace preflight {

extern const Fix rebuild_initramfs_fix;

namespace {

constexpr const char* k1 = "5.14.0-500.el9.x86_64";
constexpr const char* k2 = "5.14.0-503.el9.x86_64";

BootEntry entry(const std::string& id, const std::string& kernel,
                std::vector<std::string> initrds) {
  BootEntry entry;
  entry.id = id;
  entry.path = "/boot/loader/entries/" + id + ".conf";
  entry.kernel = kernel;
  entry.initrds = std::move(initrds);
  return entry;
}

Facts facts() {
  Facts facts;
  Kernel one;
  one.version = k1;
  Kernel two;
  two.version = k2;
  facts.kernels = std::vector<Kernel>{one, two};
  BootMenu menu;
  menu.entries = {entry("a", k1, {"/boot/initramfs-1.img"}),
                  entry("b", k2, {"/boot/initramfs-2.img"}),
                  entry("c", k2, {"/boot/ucode.img", "/boot/initramfs-3.img"}),
                  entry("gone", "4.18.0", {"/boot/initramfs-gone.img"}), entry("bare", k1, {})};
  menu.entries.push_back(entry("rescue", k1, {"/boot/initramfs-0-rescue.img"}));
  menu.entries.back().rescue = true;
  facts.boot = menu;
  return facts;
}

Finding finding(const std::string& subject, Status status = Status::fail,
                const std::string& fix = "rebuild-initramfs") {
  Finding finding;
  finding.subject = subject;
  finding.status = status;
  finding.remedy = Remedy{fix, "", {}};
  return finding;
}

std::vector<BuildImage> planned(const std::vector<Finding>& findings) {
  auto steps = rebuild_initramfs_fix.plan(facts(), findings);
  EXPECT_TRUE(steps) << steps.error().message();
  std::vector<BuildImage> images;
  for (const Step& step : *steps) images.push_back(std::get<BuildImage>(step));
  return images;
}

TEST(RebuildInitramfsTest, BuildsForTheEntrysKernelAndEachImageOnce) {
  const auto images =
      planned({finding("/boot/initramfs-2.img"), finding("/boot/initramfs-2.img", Status::warn),
               finding("/boot/initramfs-1.img", Status::warn)});
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].path, "/boot/initramfs-2.img");
  EXPECT_EQ(images[0].kernel, k2);
  EXPECT_FALSE(images[0].rescue);
  EXPECT_EQ(images[1].kernel, k1);
}

TEST(RebuildInitramfsTest, TheRescueImageIsBuiltAsOne) {
  const auto images = planned({finding("/boot/initramfs-0-rescue.img", Status::warn)});
  ASSERT_EQ(images.size(), 1u);
  EXPECT_TRUE(images[0].rescue);
}

TEST(RebuildInitramfsTest, OfSeveralFilesDracutsIsBuilt) {
  for (const char* subject : {"/boot/ucode.img + /boot/initramfs-3.img", "/boot/initramfs-3.img",
                              "/boot/ucode.img\n/boot/initramfs-3.img"}) {
    const auto images = planned({finding(subject)});
    ASSERT_EQ(images.size(), 1u) << subject;
    EXPECT_EQ(images[0].path, "/boot/initramfs-3.img");
  }
}

TEST(RebuildInitramfsTest, OtherFindingsAreNotItsBusiness) {
  EXPECT_TRUE(planned({}).empty());
  EXPECT_TRUE(planned({finding("/boot/initramfs-1.img", Status::pass),
                       finding("/boot/initramfs-1.img", Status::unknown),
                       finding("/boot/initramfs-1.img", Status::fail, "lvm-devicesfile")})
                  .empty());
}

TEST(RebuildInitramfsTest, WhatCannotBeBuiltRefusesOnlyWhenItFailsTheBoot) {
  for (const char* subject :
       {"/boot/initramfs-gone.img", "/boot/unknown.img", "/boot/loader/entries/bare.conf"}) {
    EXPECT_TRUE(planned({finding(subject, Status::warn)}).empty()) << subject;
    EXPECT_FALSE(rebuild_initramfs_fix.plan(facts(), {finding(subject)})) << subject;
  }
}

TEST(RebuildInitramfsTest, OneImageForTwoKernelsIsRefused) {
  Facts odd = facts();
  odd.boot->entries.push_back(entry("d", k2, {"/boot/initramfs-1.img"}));
  EXPECT_FALSE(rebuild_initramfs_fix.plan(odd, {finding("/boot/initramfs-1.img")}));
}

}  // namespace
}  // namespace preflight
