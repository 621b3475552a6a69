// SPDX-License-Identifier: MIT
#include "agent/formats/module_index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "agent/formats/kmod_index.h"
#include "tests/support/kmod_index_builder.h"

namespace preflight {
namespace {

using test::KmodIndexBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kernel = "5.14.0-1.el9.x86_64";
constexpr std::string_view class_alias = "pci:v*d*sv*sd*bc01sc08i02*";

/// An image as dracut makes it; the binary indexes are unread, so that their text stands for
/// them, unless a test adds them.
class ModuleIndex : public testing::Test {
 protected:
  ModuleIndex() {
    image_.files["lib"] = {.mode = S_IFLNK | 0777, .link_target = "usr/lib"};
    for (const char* module : {"drivers/nvme/host/nvme", "drivers/nvme/host/nvme-core",
                               "drivers/nvme/common/nvme-auth", "block/t10-pi"})
      put(fmt::format("kernel/{}.ko.xz", module), "module");
    put("modules.dep",
        "kernel/drivers/nvme/host/nvme.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz "
        "kernel/drivers/nvme/common/nvme-auth.ko.xz kernel/block/t10-pi.ko.xz\n"
        "kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/block/t10-pi.ko.xz\n");
    put_unread("modules.dep.bin");
    put("modules.alias", fmt::format("# Aliases\nalias {} nvme\n", class_alias));
    put_unread("modules.alias.bin");
    put("modules.builtin", "kernel/fs/ext4/ext4.ko\n");
  }

  std::string at(const std::string& name) const {
    return fmt::format("usr/lib/modules/{}/{}", kernel, name);
  }
  void put(const std::string& name, const std::string& content) {
    image_.files[at(name)] = {.mode = S_IFREG | 0644, .size = content.size(), .content = content};
  }
  void put_unread(const std::string& name) {
    image_.files[at(name)] = {.mode = S_IFREG | 0644, .size = 1, .content = std::nullopt};
  }
  void drop(const std::string& name) { ASSERT_EQ(image_.files.erase(at(name)), 1u); }
  DriverState state(const std::set<std::string>& builtin = {}) const {
    return driver_state(image_, kernel, "nvme", {builtin, guest_needs_});
  }

  Image image_;
  std::map<std::string, std::set<std::string>> guest_needs_;
};

TEST_F(ModuleIndex, AllThere) {
  EXPECT_TRUE(state().loads());
  EXPECT_FALSE(state().builtin);
  EXPECT_EQ(state().present.size(), 4u);
  EXPECT_EQ(state().present.front(), at("kernel/drivers/nvme/host/nvme.ko.xz"));
}

TEST_F(ModuleIndex, EachModuleOfTheClosureCounts) {
  for (const char* name : {"kernel/drivers/nvme/host/nvme.ko.xz", "kernel/block/t10-pi.ko.xz"}) {
    const ImageFile saved = image_.files[at(name)];
    drop(name);
    EXPECT_THAT(state().missing, ElementsAre(at(name)));
    put(name, "");
    EXPECT_THAT(state().missing, ElementsAre(HasSubstr("empty")));
    image_.files[at(name)] = {.mode = S_IFLNK | 0777, .link_target = "gone.ko.xz"};
    EXPECT_THAT(state().missing, ElementsAre(at(name)));
    image_.files[at(name)] = {.mode = S_IFDIR | 0755};
    EXPECT_FALSE(state().loads());
    image_.files[at(name)] = saved;
  }
  EXPECT_TRUE(state().loads());
}

// dracut with omit_drivers: depmod over the image knows no dependency on what was left out.
TEST_F(ModuleIndex, WhatTheGuestKnowsNvmeToNeedCountsEvenIfTheImagesIndexForgotIt) {
  guest_needs_["nvme"] = {"nvme_core", "nvme_auth", "t10_pi"};
  EXPECT_TRUE(state().loads());
  drop("kernel/drivers/nvme/host/nvme-core.ko.xz");
  put("modules.dep",
      "kernel/drivers/nvme/host/nvme.ko.xz: kernel/drivers/nvme/common/nvme-auth.ko.xz "
      "kernel/block/t10-pi.ko.xz\n");
  EXPECT_THAT(state().missing, ElementsAre(HasSubstr("nvme_core, which nvme")));
  EXPECT_TRUE(state({"nvme_core"}).loads());
  guest_needs_["nvme"] = {"nvme_auth"};
  EXPECT_TRUE(state().loads());
  guest_needs_ = {{"nvme_core", {"other"}}};
  EXPECT_TRUE(state().loads());
}

TEST_F(ModuleIndex, ADependencyThatIsBuiltinNeedsNoFile) {
  drop("kernel/block/t10-pi.ko.xz");
  EXPECT_TRUE(state({"t10_pi"}).loads());
  put("modules.builtin", "kernel/block/t10-pi.ko\n");
  EXPECT_TRUE(state().loads());
}

TEST_F(ModuleIndex, BuiltinByTheImageOrTheGuest) {
  image_.files.clear();
  EXPECT_TRUE(state({"nvme"}).builtin);
  EXPECT_FALSE(state({"nvme_core"}).loads());
  put("modules.builtin",
      "kernel/drivers/nvme/host/nvme-core.ko\nkernel/drivers/nvme/host/nvme.ko\n");
  EXPECT_TRUE(state().loads());
}

TEST_F(ModuleIndex, OtherModulesOfThatNameDoNotCount) {
  for (const char* path : {"kernel/drivers/nvme/host/nvme-tcp.ko.xz", "kernel/nvme.ko.lzma",
                           "kernel/nvme.conf", "kernel/nvme", "kernel/xnvme.ko"}) {
    put(path, "module");
    put("modules.dep", fmt::format("{}:\n", path));
    EXPECT_THAT(state().missing, ElementsAre(HasSubstr("nvme.ko in"))) << path;
  }
  for (const char* path : {"extra/nvme.ko", "weak-updates/nvme.ko.gz", "updates/nvme.ko.zst"}) {
    put(path, "module");
    put("modules.dep", fmt::format("{}:\n", path));
    EXPECT_TRUE(state().loads()) << path;
  }
}

TEST_F(ModuleIndex, KmodNeedsItsBinaryIndex) {
  drop("modules.dep.bin");
  EXPECT_THAT(state().missing, ElementsAre(HasSubstr("modules.dep.bin")));
  put("modules.dep.bin", "no index");
  EXPECT_THAT(state().missing, ElementsAre(HasSubstr("not an index")));
  put("modules.dep.bin", "");
  EXPECT_THAT(state().missing, ElementsAre(HasSubstr("not an index")));
  put("modules.alias.bin", "");
  EXPECT_THAT(alias_state(image_, kernel, qemu_nvme_modalias).missing.value_or(""),
              HasSubstr("not an index"));
}

TEST_F(ModuleIndex, TheBinaryIndexDecides) {
  put("modules.dep.bin", KmodIndexBuilder()
                             .add("nvme", "kernel/nvme.ko: kernel/other.ko")
                             .add("nvme_core", "kernel/nvme-core.ko:")
                             .text());
  EXPECT_THAT(state().missing, ElementsAre(at("kernel/nvme.ko"), at("kernel/other.ko")));
  put("kernel/nvme.ko", "module");
  put("kernel/other.ko", "module");
  EXPECT_TRUE(state().loads());
  drop("modules.dep");
  EXPECT_TRUE(state().loads());
  put("modules.dep.bin", KmodIndexBuilder().add("xfs", "kernel/xfs.ko:").text());
  EXPECT_THAT(state().missing, ElementsAre(HasSubstr("nvme.ko in")));
}

TEST_F(ModuleIndex, WithoutAnyReadableIndexNothingIsSaid) {
  drop("modules.dep");
  EXPECT_TRUE(state().missing.empty());
  EXPECT_EQ(state().unreadable.size(), 1u);
  EXPECT_FALSE(state().loads());
}

TEST_F(ModuleIndex, AnImageOfAnotherKernelNamesIt) {
  const DriverState other = driver_state(image_, "5.14.0-2.el9.x86_64", "nvme", {});
  EXPECT_THAT(other.missing, ElementsAre(HasSubstr("it has those of 5.14.0-1.el9.x86_64")));
  image_.files.clear();
  EXPECT_THAT(state().missing, ElementsAre(HasSubstr("no kernel modules at all")));
}

TEST_F(ModuleIndex, Directories) {
  EXPECT_EQ(module_directory(image_, kernel), "usr/lib/modules/5.14.0-1.el9.x86_64");
  image_.files["usr/lib/modules/file"] = {.mode = S_IFREG | 0644};
  EXPECT_THAT(module_directories(image_), ElementsAre(std::string(kernel)));
  for (const char* odd : {"", ".", "..", "file", "5.14.0-1.el9.x86_64/kernel", "no"})
    EXPECT_FALSE(module_directory(image_, odd)) << odd;
}

TEST_F(ModuleIndex, Aliases) {
  const AliasState text = alias_state(image_, kernel, bhyve_nvme_modalias);
  EXPECT_TRUE(text.gives("nvme"));
  EXPECT_EQ(text.matches.front().line, 2);
  EXPECT_FALSE(
      alias_state(image_, kernel, "pci:v0000FB5Dd00000A0Asv0sd0bc01sc06i01").gives("nvme"));
  put("modules.alias.bin", KmodIndexBuilder()
                               .add(std::string(class_alias), "nvme")
                               .add("pci:v00008086d00000953sv*sd*bc*sc*i*", "other")
                               .text());
  EXPECT_TRUE(alias_state(image_, kernel, qemu_nvme_modalias).gives("nvme"));
  put("modules.alias.bin", KmodIndexBuilder().add("pci:v*d*sv*sd*bc02*", "other").text());
  EXPECT_FALSE(alias_state(image_, kernel, qemu_nvme_modalias).gives("nvme"));
  drop("modules.alias.bin");
  EXPECT_TRUE(alias_state(image_, kernel, qemu_nvme_modalias).missing);
}

TEST(ModuleNames, Canonical) {
  EXPECT_EQ(canonical_module_name("kernel/drivers/nvme/host/nvme-core.ko.xz"), "nvme_core");
  EXPECT_EQ(canonical_module_name("nvme.ko.zst"), "nvme");
  EXPECT_EQ(canonical_module_name("a-b-c"), "a_b_c");
  EXPECT_EQ(canonical_module_name("nvme.xz"), "nvme.xz");
  EXPECT_THAT(*builtin_names("kernel/a-b.ko\n\n  \nkernel/c.ko"), ElementsAre("a_b", "c"));
  EXPECT_THAT(*dependency_names("kernel/a-b.ko: kernel/c.ko\nbroken\n\nkernel/c.ko:"),
              ElementsAre("a_b", "c"));
}

TEST(ModuleNames, MoreThanAKernelHasAreNone) {
  const std::string three = "a.ko:\nb.ko:\nc.ko:\n";
  EXPECT_TRUE(dependency_names(three, 3));
  EXPECT_FALSE(dependency_names(three, 2));
  EXPECT_TRUE(builtin_names("a.ko\na.ko\n", 1));
  EXPECT_FALSE(builtin_names("a.ko\nb.ko\n", 1));
}

TEST(ModuleNames, NeedsAreCountedWithTheirModules) {
  const std::string text = "a.ko: b.ko c-d.ko\nb.ko:\na.ko: x.ko\n";
  const auto needs = module_needs(text, 4);
  ASSERT_TRUE(needs);
  EXPECT_EQ(*needs, (ModuleNeeds{{"a", {"b", "c_d"}}, {"b", {}}}));
  EXPECT_FALSE(module_needs(text, 3));
}

TEST_F(ModuleIndex, AnEndlessBuiltinListIsNoAnswer) {
  std::string text;
  for (std::size_t i = 0; i <= modules_cap; ++i) text += fmt::format("{:x}.ko\n", i);
  put("modules.builtin", text);
  const DriverState state = driver_state(image_, kernel, "nvme", {});
  EXPECT_FALSE(state.loads());
  EXPECT_THAT(state.missing, IsEmpty());
  EXPECT_EQ(state.unreadable.size(), 1u);
}

TEST(ModuleNames, Dependencies) {
  const ModuleDependencies parsed =
      parse_dependencies("kernel/a.ko: kernel/b.ko kernel/c.ko\n\nbroken\nkernel/b.ko:\n: x\n");
  EXPECT_THAT(parsed.by_name.at("a").needs, ElementsAre("kernel/b.ko", "kernel/c.ko"));
  EXPECT_EQ(parsed.by_name.at("b").line, 4);
  EXPECT_EQ(parsed.malformed_lines, 2);
}

TEST(Patterns, AsFnmatch) {
  const auto matches = [](const char* pattern, const char* text) {
    return matches_pattern(pattern, text);
  };
  EXPECT_TRUE(matches("pci:v*d*sv*sd*bc01sc08i02*", bhyve_nvme_modalias.data()));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_TRUE(matches("a[b-d]e", "ace"));
  EXPECT_TRUE(matches("a[!b]e", "ace"));
  EXPECT_TRUE(matches("[]a]b", "]b"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[a", "[a"));
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_TRUE(matches("*ab*cd", "xabyabzcd"));
  EXPECT_FALSE(matches("a[b-d]e", "aee"));
  EXPECT_FALSE(matches("\\*", "x"));
  EXPECT_FALSE(matches("", "x"));
  EXPECT_FALSE(matches("abc", "ab"));
  EXPECT_FALSE(matches("*ab", "abc"));
}

TEST(Patterns, StarsDoNotMultiply) {
  std::string pattern, text(20000, 'a');
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(matches_pattern(pattern + "b", text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(KmodIndexFile, FindAndMatch) {
  const std::string bytes = KmodIndexBuilder()
                                .add("nvme", "a")
                                .add("nvme_core", "b")
                                .add("nv*e", "c")
                                .add("n?m[a-f]", "d")
                                .add("x", "e")
                                .text();
  const KmodIndex index = KmodIndex::open("i", bytes).value();
  EXPECT_EQ(index.find("nvme").value(), "a");
  EXPECT_EQ(index.find("nvme_core").value(), "b");
  EXPECT_EQ(index.find("nvm").value(), std::nullopt);
  EXPECT_EQ(index.find("").value(), std::nullopt);
  EXPECT_EQ(index.find("nvmex").value(), std::nullopt);
  EXPECT_THAT(index.match("nvme").value(), testing::UnorderedElementsAre("a", "c", "d"));
  EXPECT_THAT(index.match("y").value(), IsEmpty());
}

TEST(KmodIndexFile, DamageIsAnErrorAndNeverMore) {
  const std::string whole = KmodIndexBuilder().add("nvme", "a").add("n*", "b").text();
  EXPECT_FALSE(KmodIndex::open("i", whole.substr(0, 11)));
  EXPECT_FALSE(KmodIndex::open("i", "text: not an index"));
  for (std::size_t size = 12; size < whole.size(); ++size) {
    const KmodIndex index = KmodIndex::open("i", std::string_view(whole).substr(0, size)).value();
    (void)index.find("nvme");
    (void)index.match("nvme");
  }
  for (std::size_t at = 8; at < whole.size(); ++at)
    for (const char flip : {'\x01', '\x20', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      const KmodIndex index = KmodIndex::open("i", bytes).value();
      (void)index.find("nvme");
      (void)index.match("nvme");
    }
}

TEST(KmodIndexFile, CirclesEnd) {
  // A root whose child under every character is the root itself.
  const auto number = KmodIndexBuilder::big_endian;
  std::string bytes = number(0xb007f457) + number(0x00020001) + number(0x20000000 | 12);
  bytes += std::string("\x01\x7f", 2);
  for (int i = 1; i <= 0x7f; ++i) bytes += number(0x20000000 | 12);
  const KmodIndex index = KmodIndex::open("i", bytes).value();
  EXPECT_EQ(index.match("nvme").error().kind, ErrorKind::malformed);
  EXPECT_EQ(index.find(std::string(5000, 'x')).value(), std::nullopt);
}

}  // namespace
}  // namespace preflight
