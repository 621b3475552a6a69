// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"
#include "agent/formats/udev_load.h"
#include "tests/support/boot_facts.h"

namespace preflight {

extern const Check initramfs_blocked_check;

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::entry_of;
using testing::facts_with;
using ::testing::HasSubstr;
using testing::nvme_image;
using testing::put;
using testing::put_unread;
using testing::test_modules;

Finding run(const Facts& facts) {
  const std::vector<Finding> findings = initramfs_blocked_check.run(facts);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings.front();
}

Finding with_arguments(std::string options) {
  return run(facts_with(nvme_image(), {entry_of("default", std::move(options))}));
}

Finding with_file(std::string content, std::string options = "ro",
                  const std::string& path = "etc/modprobe.d/x.conf") {
  Image image = nvme_image();
  put(image, path, std::move(content));
  return run(facts_with(std::move(image), {entry_of("default", std::move(options))}));
}

TEST(InitramfsBlocked, NothingInTheWayPasses) {
  EXPECT_EQ(with_arguments("root=/dev/mapper/rl-root ro").status, Status::pass);
}

TEST(InitramfsBlocked, ABlacklistLineNamesItsPlace) {
  const Finding finding = with_file("# local policy\nblacklist nvme\n");
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.subject, "default");
  ASSERT_EQ(finding.evidence.size(), 1u);
  EXPECT_EQ(finding.evidence[0].path,
            "/boot/initramfs-5.14.0-500.el9.x86_64.img:etc/modprobe.d/x.conf");
  EXPECT_EQ(finding.evidence[0].line, 2);
  EXPECT_THAT(finding.evidence[0].saw, HasSubstr("blacklist nvme"));
  ASSERT_TRUE(finding.remedy);
  EXPECT_EQ(finding.remedy->fix, "");
  EXPECT_THAT(finding.remedy->text, HasSubstr("/etc/modprobe.d/x.conf"));
  EXPECT_THAT(finding.remedy->command,
              ElementsAre("dracut", "-f", "/boot/initramfs-5.14.0-500.el9.x86_64.img",
                          "5.14.0-500.el9.x86_64"));
}

class HarmlessFile : public ::testing::TestWithParam<const char*> {};
TEST_P(HarmlessFile, Passes) {
  EXPECT_EQ(with_file(GetParam()).status, Status::pass);
}
INSTANTIATE_TEST_SUITE_P(
    InitramfsBlocked, HarmlessFile,
    ::testing::Values("blacklist nvme_core\n", "blacklist nvme-fabrics\n", "#blacklist nvme\n",
                      "# x \\\nblacklist nvme\n", "blacklist nvme*\n",
                      "options nvme use_threaded_interrupts=1\n", "install virtio_blk /bin/false\n",
                      "alias nvme off\n", "alias pci:v00008086d*sv*sd*bc01sc08i02* off\n",
                      "install nvmf /bin/true\n",
                      "alias pci:v*d*sv*sd*bc01sc08i02* off\nalias pci:v*d*sv*sd*bc01* nvme\n",
                      "install nvme /bin/true\nsoftdep nvme pre: virtio-blk\n",
                      "install nvme_auth /sbin/modprobe x\nsoftdep nvme-auth post: nvme_core\n"));

class BlockingFile : public ::testing::TestWithParam<const char*> {};
TEST_P(BlockingFile, Fails) {
  EXPECT_EQ(with_file(GetParam()).status, Status::fail);
}
INSTANTIATE_TEST_SUITE_P(
    InitramfsBlocked, BlockingFile,
    ::testing::Values("blacklist nvme # old disk\n", "  blacklist\tnvme\n", "black\\\nlist nvme\n",
                      "install nvme /bin/false\n", "install nvme-core /bin/true\n",
                      "install nvme_auth /usr/bin/true\n", "install nvme* /bin/false\n",
                      "install nvme echo \"off; by policy\" >/dev/kmsg; exit 1\n",
                      "alias pci:v*d*sv*sd*bc01sc08i02* off\n",
                      "alias pci:v0000FB5Dd00000A0Asv*sd*bc*sc*i* other\n",
                      "install pci:v0000FB5Dd00000A0Asv00000000sd00000000bc01sc08i02 /bin/true\n",
                      "install nvme /bin/true\nsoftdep nvme pre:\n",
                      "install nvme /bin/true\ninstall nvme /sbin/modprobe -i nvme\n"));

class UnclearFile : public ::testing::TestWithParam<const char*> {};
TEST_P(UnclearFile, IsUnknown) {
  EXPECT_EQ(with_file(GetParam()).status, Status::unknown);
}
INSTANTIATE_TEST_SUITE_P(
    InitramfsBlocked, UnclearFile,
    ::testing::Values("install nvme /sbin/modprobe --ignore-install nvme\n",
                      "install nvme_core /usr/local/sbin/load\n",
                      "install nvme echo $(modprobe -i nvme)\n",
                      "install nvme /bin/true\nsoftdep nvme pre: something\n"));

class HarmlessArguments : public ::testing::TestWithParam<const char*> {};
TEST_P(HarmlessArguments, Pass) {
  EXPECT_EQ(with_arguments(GetParam()).status, Status::pass);
}
INSTANTIATE_TEST_SUITE_P(
    InitramfsBlocked, HarmlessArguments,
    ::testing::Values("modprobe.blacklist=nvme_core,nvme-core", "rd.driver.blacklist=nvme-core",
                      "modprobe-blacklist=nvme", "modprobe.blacklist=nvme_fabrics,xnvme",
                      "module_blacklist=nvme module_blacklist=foo", "module_blacklist=nvme-core",
                      "initcall_blacklist=nvme", "blacklist=nvme", "nvme.blacklist=nvme",
                      "ro -- module_blacklist=nvme", "rd.driver.pre=nvme", "modprobe.blacklist",
                      "initcall_blacklist=nvme_tcp_init_module", "nvme_core.multipath=N"));

class BlockingArguments : public ::testing::TestWithParam<const char*> {};
TEST_P(BlockingArguments, Fail) {
  const Finding finding = with_arguments(GetParam());
  EXPECT_EQ(finding.status, Status::fail);
  ASSERT_FALSE(finding.evidence.empty());
  EXPECT_EQ(finding.evidence[0].path, "/boot/loader/entries/default.conf");
  EXPECT_EQ(finding.evidence[0].line, 5);
  ASSERT_TRUE(finding.remedy);
  EXPECT_FALSE(finding.remedy->command.empty());
}
INSTANTIATE_TEST_SUITE_P(
    InitramfsBlocked, BlockingArguments,
    ::testing::Values("modprobe.blacklist=floppy,nvme", "rd.driver.blacklist=nvme",
                      "rdblacklist=nvme", "rd.driver.blacklist=a rd.driver.blacklist=b,nvme",
                      "module_blacklist=nvme_core", "module-blacklist=nvme",
                      "module_blacklist=nvme_auth", "initcall_blacklist=nvme_init",
                      "initcall_blacklist=nvme_core_init initcall_blacklist=x",
                      "initcall-blacklist=nvme_auth_init", "ro -- modprobe.blacklist=nvme",
                      "modprobe.blacklist=\"nvme\""));

TEST(InitramfsBlocked, AnExplicitLoadGetsAroundABlacklist) {
  const Finding finding =
      with_file("blacklist nvme\n", "modprobe.blacklist=nvme rd.driver.pre=x,nvme");
  EXPECT_EQ(finding.status, Status::pass);
  EXPECT_THAT(finding.summary, HasSubstr("rd.driver.pre=x,nvme"));
  EXPECT_EQ(finding.evidence.size(), 2u);
  EXPECT_EQ(with_file("blacklist nvme\n", "rd.driver.post=nvme").status, Status::pass);
  EXPECT_EQ(with_file("rd.driver.pre=nvme\n", "modprobe.blacklist=nvme",
                      "etc/cmdline.d/20-force_drivers.conf")
                .status,
            Status::pass);
}

TEST(InitramfsBlocked, AnExplicitLoadHelpsAgainstNothingElse) {
  EXPECT_EQ(with_file("install nvme /bin/true\n", "rd.driver.pre=nvme").status, Status::fail);
  EXPECT_EQ(with_file("blacklist nvme\nalias nvme off\n", "rd.driver.pre=nvme").status,
            Status::fail);
  EXPECT_EQ(with_arguments("rd.driver.pre=nvme module_blacklist=nvme").status, Status::fail);
  EXPECT_EQ(with_arguments("modprobe.blacklist=nvme rd.driver.pre=nvme_core").status, Status::fail);
}

TEST(InitramfsBlocked, TheImagesCommandLineFilesAreDracutsAlone) {
  const std::string path = "etc/cmdline.d/10-own.conf";
  const Finding finding = with_file("# rd.driver.blacklist=nvme\n", "ro", path);
  EXPECT_EQ(finding.status, Status::fail) << "dracut knows no comments there";
  EXPECT_THAT(finding.evidence[0].path, HasSubstr(path));
  EXPECT_EQ(with_file("rd.driver.blacklist=nvme\n", "ro", "etc/cmdline").status, Status::fail);
  for (const char* text :
       {"modprobe.blacklist=nvme", "module_blacklist=nvme", "initcall_blacklist=nvme_init"})
    EXPECT_EQ(with_file(text, "ro", path).status, Status::pass) << text;
}

TEST(InitramfsBlocked, OldNamesAreGoneInEl10) {
  Facts facts = facts_with(nvme_image(), {entry_of("default", "rdblacklist=nvme")});
  facts.release->major = 10;
  EXPECT_EQ(run(facts).status, Status::pass);
}

TEST(InitramfsBlocked, GrubbyTakesOutTheNameAlone) {
  const Finding finding = with_arguments("modprobe.blacklist=floppy,nvme,pcspkr");
  EXPECT_THAT(finding.remedy->command,
              ElementsAre("grubby", "--update-kernel=/boot/vmlinuz-5.14.0-500.el9.x86_64",
                          "--remove-args=modprobe.blacklist=floppy,nvme,pcspkr",
                          "--args=modprobe.blacklist=floppy,pcspkr"));
}

TEST(InitramfsBlocked, OtherEntriesOnlyWarn) {
  const auto findings = initramfs_blocked_check.run(facts_with(
      nvme_image(), {entry_of("a", "ro"), entry_of("b", "modprobe.blacklist=nvme", false)}));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::warn);
  EXPECT_EQ(findings[1].subject, "b");
}

TEST(InitramfsBlocked, BuiltInOnlyItsInitcallCanBeStopped) {
  Facts facts = facts_with(nvme_image(),
                           {entry_of("default", "module_blacklist=nvme modprobe.blacklist=nvme")});
  facts.kernels->front().builtin = {"nvme", "nvme_core"};
  EXPECT_EQ(run(facts).status, Status::pass);
  facts.boot->entries[0].options = "initcall_blacklist=nvme_core_init";
  EXPECT_EQ(run(facts).status, Status::fail);
}

TEST(InitramfsBlocked, WhatWasNotSeenIsNoPass) {
  Image image = nvme_image();
  put_unread(image, "etc/modprobe.d/x.conf");
  EXPECT_EQ(run(facts_with(image, {entry_of("default", "ro")})).status, Status::unknown);
  Image indexless = nvme_image();
  indexless.files.erase(std::string(test_modules) + "/modules.dep");
  put_unread(indexless, std::string(test_modules) + "/modules.dep.bin");
  EXPECT_EQ(run(facts_with(indexless, {entry_of("default", "ro")})).status, Status::unknown)
      << "what nvme needs is not known";
  Image cut = nvme_image();
  cut.damage = Error{ErrorKind::unsupported, "/boot/initramfs", 0, "lzo is not read here"};
  EXPECT_EQ(run(facts_with(cut, {entry_of("default", "ro")})).status, Status::unknown);
  EXPECT_EQ(run(facts_with(cut, {entry_of("default", "module_blacklist=nvme")})).status,
            Status::fail);
}

TEST(InitramfsBlocked, WithoutEntriesOrImageItSaysSo) {
  Facts facts = facts_with(nvme_image(), {entry_of("default", "modprobe.blacklist=nvme")});
  facts.boot->entries[0].initrds.clear();
  EXPECT_EQ(run(facts).status, Status::skip);
  facts.boot = fail(ErrorKind::denied, "/boot/loader/entries", "permission denied");
  EXPECT_EQ(run(facts).status, Status::unknown);
}

TEST(InitramfsBlocked, ManyLinesMakeNoLongReport) {
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "blacklist nvme\n";
  const Finding finding = with_file(many);
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_LE(finding.evidence.size(), 24u);
  EXPECT_LT(finding.remedy->text.size(), 4000u);
}

TEST(InitramfsBlocked, HugeListsAndPatternsStayCheap) {
  std::string list = "modprobe.blacklist=";
  for (int i = 0; i < 50000; ++i) list += "nvme,";
  EXPECT_EQ(with_arguments(list + " module_" + list.substr(9)).evidence.size(), 2u);
  std::string patterns;
  for (int i = 0; i < 20; ++i) patterns += "install " + std::string(50000, '*') + "x /bin/true\n";
  // No module of the closure ends in "x": the lines are harmless, however long.
  EXPECT_EQ(with_file(patterns).status, Status::pass);
}

TEST(InitramfsBlocked, HostileTextIsEscaped) {
  const Finding finding = with_file("blacklist nvme \x1b[31m\xff\n");
  EXPECT_EQ(finding.evidence[0].saw.find('\x1b'), std::string::npos);
  EXPECT_EQ(finding.summary.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace preflight
