// SPDX-License-Identifier: MIT
// libkmod as the oracle: the same configuration, written out as files, is given to libkmod, which
// looks up the controller's modalias and says what it would do (KMOD_PROBE_DRY_RUN).
#include <gtest/gtest.h>

#include "agent/formats/udev_load.h"

#if defined(PREFLIGHT_HAVE_KMOD)

#include <libkmod.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "agent/formats/module_index.h"
#include "tests/support/boot_facts.h"
#include "tests/support/kmod_index_builder.h"

namespace preflight {
namespace {

using test::KmodIndexBuilder;
using testing::nvme_image;
using testing::put;
using testing::test_modules;

/// What libkmod does with a modalias.
struct Outcome {
  bool found = false;               // nvme is among the modules
  bool blacklisted = false;         // nvme, for a load by alias
  std::set<std::string> installed;  // modules of the closure whose install command would run
};

class Extracted {
 public:
  Extracted() {
    std::string pattern = ::testing::TempDir() + "preflight-kmod-XXXXXX";
    top_ = ::mkdtemp(pattern.data());
    const Image image = nvme_image();
    for (const auto& [name, file] : image.files)
      if (file.content) write(name, *file.content);
    KmodIndexBuilder dep, alias, none;
    for (const auto& [name, line] :
         parse_dependencies(*image.content(modules() + "/modules.dep")).by_name) {
      std::string value = line.path + ":";
      for (const std::string& needed : line.needs) value += " " + needed;
      dep.add(name, value);
    }
    alias.add("pci:v*d*sv*sd*bc01sc08i02*", "nvme");
    write(modules() + "/modules.dep.bin", dep.text());
    write(modules() + "/modules.alias.bin", alias.text());
    for (const std::string name : {"symbols", "builtin", "builtin.alias"})
      write(modules() + "/modules." + name + ".bin", none.text());
  }

  /// Puts the image's configuration in the place of the one before.
  void configure(const Image& image) {
    for (const char* directory : {"etc", "usr/lib/modprobe.d"})
      std::filesystem::remove_all(top_ / directory);
    std::filesystem::remove(path(modules() + "/modules.softdep"));
    for (const auto& [name, file] : image.files)
      if (file.content &&
          (name.find("modprobe.d") != std::string::npos || name.ends_with("modules.softdep")))
        write(name, *file.content);
  }

  ~Extracted() { std::filesystem::remove_all(top_); }
  Extracted(const Extracted&) = delete;
  Extracted& operator=(const Extracted&) = delete;

  std::string path(const std::string& name) const { return (top_ / name).string(); }
  static std::string modules() { return std::string(test_modules); }

 private:
  void write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name, std::ios::binary) << content;
  }
  std::filesystem::path top_;
};

thread_local std::set<std::string>* installs = nullptr;

void note_action(kmod_module* module, bool install, const char*) {
  if (install) installs->insert(kmod_module_get_name(module));
}

Outcome ask_libkmod(const Extracted& tree, std::string_view modalias) {
  ::setenv("KMOD_LOG", "0", 1);  // it reports bad lines while it reads, before a log can be set
  const std::string etc = tree.path("etc/modprobe.d"), lib = tree.path("usr/lib/modprobe.d");
  const char* directories[] = {etc.c_str(), lib.c_str(), nullptr};
  kmod_ctx* ctx = kmod_new(tree.path(Extracted::modules()).c_str(), directories);
  kmod_list *list = nullptr, *item = nullptr;
  kmod_module_new_from_lookup(ctx, std::string(modalias).c_str(), &list);
  Outcome outcome;
  kmod_list_foreach(item, list) {
    kmod_module* module = kmod_module_get_module(item);
    if (std::string(kmod_module_get_name(module)) == "nvme") {
      outcome.found = true;
      installs = &outcome.installed;
      const unsigned flags = KMOD_PROBE_DRY_RUN | KMOD_PROBE_IGNORE_LOADED;
      outcome.blacklisted =
          kmod_module_probe_insert_module(module, flags | KMOD_PROBE_APPLY_BLACKLIST, nullptr,
                                          nullptr, nullptr, nullptr) == KMOD_PROBE_APPLY_BLACKLIST;
      kmod_module_probe_insert_module(module, flags, nullptr, nullptr, nullptr, note_action);
    }
    kmod_module_unref(module);
  }
  kmod_module_unref_list(list);
  kmod_unref(ctx);
  return outcome;
}

DriverRequest nvme_request(const Image& image, std::string_view modalias) {
  DriverRequest request;
  request.closure = {"nvme", "nvme_core", "nvme_auth"};
  request.modaliases = {std::string(modalias)};
  for (const auto& [name, line] :
       parse_dependencies(*image.content(Extracted::modules() + "/modules.dep")).by_name)
    request.known.insert(name);
  return request;
}

Outcome ask_ourselves(const Image& image, std::string_view modalias) {
  const LoadVerdict verdict = judge_load(read_modprobe_conf(image, Extracted::modules(), false), {},
                                         nvme_request(image, modalias));
  Outcome outcome;
  outcome.found = true;
  const auto is_command = [](const LoadObstacle& obstacle) {
    return obstacle.why.find("a command") != std::string::npos;
  };
  for (const LoadObstacle& obstacle : verdict.obstacles) {
    if (is_command(obstacle))
      outcome.installed.insert(obstacle.module);
    else if (obstacle.why.find("alias") != std::string::npos)
      outcome.found = false;
    else
      outcome.blacklisted = true;
  }
  for (const LoadObstacle& obstacle : verdict.doubts)
    if (is_command(obstacle)) outcome.installed.insert(obstacle.module);
  return outcome;
}

/// How often each outcome was seen, so that agreement on nothing does not pass.
struct Seen {
  int lost = 0, blacklisted = 0, installed = 0, clear = 0;

  void count(const Outcome& outcome) {
    lost += outcome.found ? 0 : 1;
    blacklisted += outcome.blacklisted ? 1 : 0;
    installed += outcome.installed.empty() ? 0 : 1;
    clear += outcome.found && !outcome.blacklisted && outcome.installed.empty() ? 1 : 0;
  }
};

void compare(Extracted& tree, const Image& image, const std::string& what, Seen& seen) {
  tree.configure(image);
  for (const std::string_view modalias : {bhyve_nvme_modalias, qemu_nvme_modalias}) {
    const Outcome theirs = ask_libkmod(tree, modalias), ours = ask_ourselves(image, modalias);
    seen.count(theirs);
    ASSERT_EQ(theirs.found, ours.found) << what << modalias;
    if (!theirs.found) continue;  // then libkmod goes no further
    ASSERT_EQ(theirs.blacklisted, ours.blacklisted) << what << modalias;
    for (const std::string module : {"nvme", "nvme_core", "nvme_auth"})
      ASSERT_EQ(theirs.installed.contains(module), ours.installed.contains(module))
          << what << modalias << " " << module;
  }
}

TEST(UdevLoadAgainstLibkmod, TheIndexesWrittenHereWork) {
  Extracted tree;
  const Outcome plain = ask_libkmod(tree, bhyve_nvme_modalias);
  EXPECT_TRUE(plain.found);
  EXPECT_FALSE(plain.blacklisted);
  EXPECT_TRUE(plain.installed.empty());
  Image image = nvme_image();
  put(image, "etc/modprobe.d/x.conf", "blacklist nvme\ninstall nvme-core /bin/true\n");
  tree.configure(image);
  const Outcome stopped = ask_libkmod(tree, qemu_nvme_modalias);
  EXPECT_TRUE(stopped.blacklisted);
  EXPECT_EQ(stopped.installed, std::set<std::string>{"nvme_core"});
}

/// Lines that are put together at random.
std::string random_file(std::mt19937& random) {
  static const std::vector<std::string> lines{
      "blacklist nvme",
      "blacklist nvme-core",
      "blacklist nvme_fabrics",
      "#blacklist nvme",
      " # blacklist nvme",
      "\tblacklist  nvme # x",
      "blacklist nvme*",
      "black\\\nlist nvme",
      "# comment \\",
      "install nvme /bin/true",
      "install nvme-core  /bin/false",
      "install nvme_auth\t/bin/true",
      "install nvme* /bin/true",
      "install nvme[_-]core /bin/true",
      "install nvme[-_]core /bin/true",
      "install nvme]core /bin/true",
      "install nvme",
      "install nvme ",
      "install nv\\me /bin/true",
      "install n?me /bin/true",
      "softdep nvme pre: virtio-blk",
      "softdep nvme_core post: nvme",
      "softdep nvme* pre: nosuchmodule",
      "softdep nvme pre:",
      "softdep nvme virtio_blk",
      "softdep nvme-auth pre: nosuch post: virtio_blk",
      "alias pci:v*d*sv*sd*bc01sc08i02* off",
      "alias pci:v0000FB5D* other",
      "alias pci:v00001B36d*bc01sc08i0[1-3]* nvme",
      "alias pci:v0000FB5D* nvme",
      "alias pci:*bc01sc08i0[!2] off",
      "alias nvme off",
      "alias x",
      "alias pci:v*[ off",
      "install pci:v0000FB5Dd00000A0Asv00000000sd00000000bc01sc08i02 /bin/true",
      "remove pci:v00001B36d00000010sv00001AF4sd00001100bc01sc08i02 /bin/true",
      "options nvme poll_queues=2",
      "include /etc",
      "",
      "\\",
      "blacklist nvme\\",
      "Blacklist nvme"};
  std::string text;
  const auto count = random() % 6;
  for (auto i = count; i > 0; --i) text += lines[random() % lines.size()] + "\n";
  if (!text.empty() && random() % 5 == 0) text.pop_back();
  return text;
}

TEST(UdevLoadAgainstLibkmod, AgreesOnRandomConfigurations) {
  std::mt19937 random(20261130);
  const std::vector<std::string> names{"etc/modprobe.d/a.conf",
                                       "usr/lib/modprobe.d/a.conf",
                                       "usr/lib/modprobe.d/Z.conf",
                                       "etc/modprobe.d/m.conf",
                                       "etc/modprobe.d/b.txt",
                                       "usr/lib/modprobe.d/z.alias",
                                       "etc/modprobe.d/.hidden.conf",
                                       "etc/modprobe.d/.conf",
                                       Extracted::modules() + "/modules.softdep"};
  Extracted tree;
  Seen seen;
  for (int round = 0; round < 150; ++round) {
    Image image = nvme_image();
    std::string what;
    for (const std::string& name : names) {
      if (random() % 3 != 0) continue;
      const std::string text = random_file(random);
      put(image, name, text);
      what += "==> " + name + "\n" + text + "\n";
    }
    compare(tree, image, what, seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.lost, 10);
  EXPECT_GT(seen.blacklisted, 10);
  EXPECT_GT(seen.installed, 10);
  EXPECT_GT(seen.clear, 10);
}

}  // namespace
}  // namespace preflight

#else

TEST(UdevLoadAgainstLibkmod, Skipped) {
  GTEST_SKIP() << "libkmod was not found when the tests were built: nothing was compared";
}

#endif
