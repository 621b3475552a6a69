// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/check.h"

namespace preflight {

extern const Check initramfs_readable_check;
extern const Check initramfs_driver_check;
extern const Check initramfs_way_back_check;

namespace {

using testing::HasSubstr;

constexpr const char* k1 = "5.14.0-500.el9.x86_64";
constexpr const char* k2 = "5.14.0-503.el9.x86_64";

void put(Image& image, const std::string& name, const std::string& content) {
  image.files[name] = {.mode = S_IFREG | 0644, .size = content.size(), .content = content};
}

void put_link(Image& image, const std::string& name, const std::string& target) {
  ImageFile& link = image.files[name];
  link.mode = S_IFLNK | 0777;
  link.size = target.size();
  link.link_target = target;
}

void put_unread(Image& image, const std::string& name) {
  image.files[name] = {.mode = S_IFREG | 0644, .size = 1, .content = std::nullopt};
}

Image image_for(const std::string& kernel, bool nvme = true) {
  Image image;
  image.segments.push_back({0, Compression::gzip, 10});
  image.files["lib"] = {.mode = S_IFLNK | 0777, .link_target = "usr/lib"};
  const std::string at = "usr/lib/modules/" + kernel + "/";
  std::string dependencies = "kernel/virtio_blk.ko.xz:\n";
  put(image, at + "kernel/virtio_blk.ko.xz", "module");
  if (nvme) {
    put(image, at + "kernel/nvme.ko.xz", "module");
    put(image, at + "kernel/nvme-core.ko.xz", "module");
    dependencies += "kernel/nvme.ko.xz: kernel/nvme-core.ko.xz\n";
  }
  put(image, at + "modules.dep", dependencies);
  put_unread(image, at + "modules.dep.bin");
  put(image, at + "modules.alias", nvme ? "alias pci:v*d*sv*sd*bc01sc08i02* nvme\n" : "");
  put_unread(image, at + "modules.alias.bin");
  return image;
}

class InitramfsChecks : public testing::Test {
 protected:
  InitramfsChecks() {
    facts_.boot = BootMenu{};
    facts_.kernels = std::vector<Kernel>{};
    add(k1, image_for(k1));
  }

  BootEntry& add(const std::string& kernel, Result<Image> image) {
    BootEntry entry;
    entry.id = "id-" + kernel;
    entry.path = "/boot/loader/entries/" + entry.id + ".conf";
    entry.kernel = kernel;
    entry.initrds = {"/boot/initramfs-" + kernel + ".img"};
    entry.is_default = facts_.boot->entries.empty();
    if (entry.is_default) facts_.boot->default_index = 0;
    facts_.images.insert_or_assign(entry.image_key(), std::move(image));
    Kernel installed;
    installed.version = kernel;
    installed.modular = {"nvme", "nvme_core", "virtio_blk"};
    facts_.kernels->push_back(installed);
    facts_.boot->entries.push_back(std::move(entry));
    return facts_.boot->entries.back();
  }
  void set(std::size_t entry, Result<Image> image) {
    facts_.images.insert_or_assign(facts_.boot->entries[entry].image_key(), std::move(image));
  }
  Image& image(std::size_t entry = 0) {
    return facts_.images.at(facts_.boot->entries[entry].image_key()).value();
  }
  Finding driver(std::size_t i = 0) { return initramfs_driver_check.run(facts_).at(i); }
  Finding readable(std::size_t i = 0) { return initramfs_readable_check.run(facts_).at(i); }
  Finding way_back(std::size_t i = 0) { return initramfs_way_back_check.run(facts_).at(i); }

  Facts facts_;
};

TEST_F(InitramfsChecks, AllRight) {
  EXPECT_EQ(driver().status, Status::pass);
  EXPECT_EQ(readable().status, Status::pass);
  EXPECT_EQ(way_back().status, Status::pass);
  EXPECT_EQ(driver().subject, "/boot/initramfs-5.14.0-500.el9.x86_64.img");
}

TEST_F(InitramfsChecks, MissingDriverFailsTheDefaultAndWarnsElsewhere) {
  add(k2, image_for(k2, false));
  EXPECT_EQ(driver(0).status, Status::pass);
  EXPECT_EQ(driver(1).status, Status::warn);
  facts_.boot->entries[0].is_default = false;
  facts_.boot->entries[1].is_default = true;
  facts_.boot->default_index = 1;
  EXPECT_EQ(driver(0).status, Status::pass);
  EXPECT_EQ(driver(1).status, Status::fail);
  EXPECT_EQ(driver(1).remedy->fix, "rebuild-initramfs");
  EXPECT_EQ(driver(1).evidence.front().path, "/boot/initramfs-5.14.0-503.el9.x86_64.img");
}

TEST_F(InitramfsChecks, WithoutAKnownDefaultEveryEntryCounts) {
  add(k2, image_for(k2, false));
  facts_.boot->default_index.reset();
  facts_.boot->entries[0].is_default = false;
  EXPECT_EQ(driver(1).status, Status::fail);
  EXPECT_EQ(initramfs_way_back_check.run(facts_).size(), 2u);
}

TEST_F(InitramfsChecks, EntriesWithOneImageGiveOneFinding) {
  facts_.boot->entries.push_back(facts_.boot->entries[0]);
  facts_.boot->entries[1].id = "other";
  facts_.boot->entries[1].is_default = false;
  EXPECT_EQ(initramfs_driver_check.run(facts_).size(), 1u);
  facts_.boot->entries[1].kernel = k2;
  EXPECT_EQ(initramfs_driver_check.run(facts_).size(), 2u);
  EXPECT_EQ(driver(1).status, Status::warn);
  EXPECT_THAT(driver(1).evidence.front().saw, HasSubstr("it has those of 5.14.0-500.el9.x86_64"));
  EXPECT_EQ(initramfs_readable_check.run(facts_).size(), 1u);
}

TEST_F(InitramfsChecks, BuiltinCountsForThatKernelOnly) {
  set(0, image_for(k1, false));
  EXPECT_EQ(driver().status, Status::fail);
  facts_.kernels->at(0).builtin = {"nvme", "nvme_core"};
  EXPECT_EQ(driver().status, Status::pass);
  add(k2, image_for(k2, false));
  EXPECT_EQ(driver(1).status, Status::warn);
}

TEST_F(InitramfsChecks, TheAliasIsNeeded) {
  put(image(), std::string("usr/lib/modules/") + k1 + "/modules.alias",
      "alias pci:v00008086d00000953sv*sd*bc*sc*i* nvme\n");
  EXPECT_EQ(driver().status, Status::fail);
  EXPECT_THAT(driver().evidence.front().saw, HasSubstr("alias"));
}

TEST_F(InitramfsChecks, WhatCannotBeReadWholeIsUnknown) {
  Image squashed = image_for(k1, false);
  squashed.opaque_parts = {"squashfs-root.img"};
  set(0, squashed);
  EXPECT_EQ(driver().status, Status::unknown);
  EXPECT_EQ(readable().status, Status::unknown);
  Image lzo;
  lzo.segments.push_back({0, Compression::lzo, 0});
  lzo.damage = Error{ErrorKind::unsupported, "/boot/i", 0, "lzo"};
  set(0, lzo);
  EXPECT_EQ(driver().status, Status::unknown);
  EXPECT_EQ(readable().status, Status::unknown);
  EXPECT_EQ(way_back().status, Status::unknown);
  // What was seen is there, whatever follows.
  Image bomb = image_for(k1);
  bomb.damage = Error{ErrorKind::too_large, "/boot/i", 0, "too much"};
  set(0, bomb);
  EXPECT_EQ(driver().status, Status::pass);
  EXPECT_EQ(readable().status, Status::unknown);
}

TEST_F(InitramfsChecks, DamagedEmptyAndEarlyOnlyImages) {
  Image cut = image_for(k1, false);
  cut.damage = Error{ErrorKind::malformed, "/boot/i", 0, "it is cut"};
  Image early;
  early.segments.push_back({0, Compression::none, 3});
  early.files["kernel"] = {.mode = S_IFDIR | 0755};
  put(early, "kernel/x86/microcode/GenuineIntel.bin", "m");
  put(early, "early_cpio", "1");
  for (const Image& bad : {cut, early, Image{}}) {
    set(0, bad);
    EXPECT_EQ(readable().status, Status::fail);
    EXPECT_EQ(readable().remedy->fix, "rebuild-initramfs");
    EXPECT_EQ(driver().status, Status::fail);
  }
  set(0, image_for(k1));
  add(k2, Image{});
  EXPECT_EQ(readable(0).status, Status::pass);
  EXPECT_EQ(readable(1).status, Status::warn);
}

TEST_F(InitramfsChecks, AMissingFileIsReportedOnce) {
  const auto missing = [] { return fail(ErrorKind::missing, "/boot/i.img", "cannot open"); };
  set(0, missing());
  EXPECT_EQ(readable().status, Status::skip);
  EXPECT_THAT(readable().summary, HasSubstr("boot.default-entry"));
  EXPECT_EQ(driver().status, Status::skip);
  set(0, image_for(k1));
  add(k2, missing());
  EXPECT_EQ(readable(1).status, Status::warn);
  EXPECT_EQ(driver(1).status, Status::skip);
  set(1, fail(ErrorKind::denied, "/boot/i.img", "cannot open"));
  EXPECT_EQ(readable(1).status, Status::warn) << "what does not boot by itself decides nothing";
  EXPECT_EQ(driver(1).status, Status::warn);
  facts_.boot->default_index.reset();
  EXPECT_EQ(readable(1).status, Status::unknown);
}

TEST_F(InitramfsChecks, ACompressionThatTheKernelDoesNotKnow) {
  image().segments.back().compression = Compression::zstd;
  EXPECT_EQ(readable().status, Status::pass);
  add("4.18.0-553.el8_10.x86_64", image_for("4.18.0-553.el8_10.x86_64"));
  image(1).segments.back().compression = Compression::zstd;
  EXPECT_EQ(readable(1).status, Status::warn);
  EXPECT_THAT(readable(1).summary, HasSubstr("does not unpack zstd"));
  for (const char* kernel : {"5.8.0", "4.18.0-1.el8", "5.8"})
    EXPECT_FALSE(kernel_unpacks(kernel, Compression::zstd)) << kernel;
  for (const char* kernel : {"5.9.0", "5.14.0-1.el9", "6.12.0", "10.1", "", "x", "5"})
    EXPECT_TRUE(kernel_unpacks(kernel, Compression::zstd)) << kernel;
  EXPECT_TRUE(kernel_unpacks("4.18.0", Compression::lz4_legacy));
}

TEST_F(InitramfsChecks, WithoutAnInitrdTheDriverHasToBeBuiltin) {
  facts_.boot->entries[0].initrds.clear();
  EXPECT_EQ(driver().status, Status::fail);
  EXPECT_EQ(driver().subject, facts_.boot->entries[0].path);
  EXPECT_EQ(readable().status, Status::skip);
  facts_.kernels->at(0).builtin = {"nvme"};
  EXPECT_EQ(driver().status, Status::pass);
  facts_.kernels = fail(ErrorKind::denied, "/lib/modules", "cannot list");
  EXPECT_EQ(driver().status, Status::unknown);
}

TEST_F(InitramfsChecks, RescueEntriesUseTheKernelOfTheirImage) {
  BootEntry& rescue = add("0-rescue-0123", image_for(k1));
  rescue.rescue = true;
  EXPECT_EQ(driver(1).status, Status::pass);
  set(1, image_for(k1, false));
  EXPECT_EQ(driver(1).status, Status::warn);
  EXPECT_THAT(driver(1).summary, HasSubstr(k1));
  Image two = image_for(k1);
  two.files.merge(image_for(k2).files);
  set(1, two);
  EXPECT_EQ(driver(1).status, Status::warn);
  EXPECT_THAT(driver(1).summary, HasSubstr("cannot be told"));
}

TEST_F(InitramfsChecks, KernelsThatCannotBeListedMakeItUnknown) {
  facts_.kernels = fail(ErrorKind::too_large, "/lib/modules/x/modules.dep", "has too many names");
  EXPECT_EQ(driver().status, Status::unknown);
  EXPECT_THAT(driver().summary, HasSubstr("/lib/modules/x/modules.dep"));
  facts_.kernels = fail(ErrorKind::missing, "/lib/modules", "is not there");
  EXPECT_EQ(driver().status, Status::pass);
}

TEST_F(InitramfsChecks, AContentThatWasNotKeptMakesItUnknown) {
  put_unread(image(), "etc/cmdline.d/x.conf");
  const std::vector<Finding> findings = initramfs_readable_check.run(facts_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].status, Status::unknown);
  EXPECT_THAT(findings[0].summary, HasSubstr("etc/cmdline.d/x.conf"));
}

TEST_F(InitramfsChecks, ManyLinksToOneFileOfWordsAreNotFollowedForEver) {
  put(image(), "etc/words", std::string(60u << 10, 'a'));
  put_link(image(), "etc/cmdline.d/a.conf", "../words");
  EXPECT_EQ(readable().status, Status::pass);
  put_link(image(), "etc/cmdline.d/b.conf", "../words");
  EXPECT_EQ(readable().status, Status::unknown);
  EXPECT_THAT(readable().summary, HasSubstr("etc/cmdline.d/b.conf"));
}

TEST_F(InitramfsChecks, RemediesThatWouldNotHelpAreNotOffered) {
  set(0, image_for(k1, false));
  facts_.kernels->at(0).modular = {"virtio_blk"};
  EXPECT_EQ(driver().remedy->fix, "");
  EXPECT_THAT(driver().remedy->text, HasSubstr("kernel-modules"));
  facts_.kernels->clear();
  EXPECT_EQ(driver().remedy->fix, "");
}

TEST_F(InitramfsChecks, WayBack) {
  Image gone = image_for(k1);
  const std::string at = std::string("usr/lib/modules/") + k1 + "/";
  gone.files.erase(at + "kernel/virtio_blk.ko.xz");
  set(0, gone);
  EXPECT_EQ(way_back().status, Status::warn);
  EXPECT_EQ(way_back().remedy->fix, "rebuild-initramfs");
  facts_.kernels->at(0).builtin = {"virtio_blk"};
  EXPECT_EQ(way_back().status, Status::pass);
  facts_.kernels->at(0).modular.insert("virtio_pci");
  EXPECT_EQ(way_back().status, Status::warn);
}

TEST_F(InitramfsChecks, NothingToLookAt) {
  facts_.boot->entries.clear();
  EXPECT_EQ(driver().status, Status::skip);
  facts_.boot = fail(ErrorKind::missing, "/boot/loader/entries", "cannot list");
  for (const Finding& finding : {driver(), readable(), way_back()})
    EXPECT_EQ(finding.status, Status::unknown);
}

}  // namespace
}  // namespace preflight
