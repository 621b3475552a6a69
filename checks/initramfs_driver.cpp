// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "agent/check.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"
#include "checks/boot_images.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

constexpr std::string_view driver = "nvme";
constexpr std::string_view emergency =
    "On NVMe it would find no disk, wait for its root file system and end in the emergency shell.";

struct Judgement {
  bool builtin = false;
  std::vector<std::string> missing;
  std::vector<std::string> unreadable;
};

/// udev loads a driver by the device's modalias alone, so the index has to lead from bhyve's and
/// from QEMU's NVMe controller to nvme.
void judge_aliases(const Image& image, const std::string& kernel, Judgement& judgement) {
  for (const std::string_view modalias : {bhyve_nvme_modalias, qemu_nvme_modalias}) {
    const AliasState alias = alias_state(image, kernel, modalias);
    if (alias.unreadable) {
      judgement.unreadable.push_back(*alias.unreadable);
    } else if (alias.missing) {
      judgement.missing.push_back(*alias.missing);
    } else if (!alias.gives(driver)) {
      judgement.missing.push_back(
          fmt::format("an alias in {} that leads from {} to {}", alias.path, modalias, driver));
    } else {
      continue;
    }
    return;
  }
}

/// In an image with udev, the rule that makes it load drivers (systemd rules.d/80-drivers.rules). A
/// file of that name in etc takes the place of udev's own, an empty one or a link to /dev/null too
/// (udev(7)).
void judge_rule(const Image& image, Judgement& judgement) {
  constexpr std::array<std::string_view, 4> daemons{
      "usr/lib/systemd/systemd-udevd", "usr/bin/udevadm", "usr/sbin/udevd", "sbin/udevd"};
  if (std::none_of(daemons.begin(), daemons.end(),
                   [&](std::string_view path) { return image.find(path) != nullptr; }))
    return;
  for (const std::string directory : {"etc/udev/rules.d/", "usr/lib/udev/rules.d/"}) {
    const std::string path = directory + "80-drivers.rules";
    if (!image.files.contains(path)) continue;
    const ImageFile* rule = image.find(path);
    if (rule != nullptr && S_ISREG(rule->mode) && rule->size > 0) return;
    judgement.missing.push_back(path + ", by which udev loads drivers, is masked");
    return;
  }
  judgement.missing.emplace_back(
      "usr/lib/udev/rules.d/80-drivers.rules, by which udev loads drivers");
}

/// rd.driver.pre=nvme (rdloaddriver= before EL 10): dracut loads it by name before udev starts
/// (modules.d/98dracut-systemd/dracut-pre-udev.sh).
bool is_loaded_by_name(const Facts& facts, const BootEntry& entry) {
  for (const BootWord& word : boot_words(facts, entry)) {
    const std::string& key = word.word.key;
    const bool old_key = key == "rdloaddriver" && facts.release && facts.release->major < 10;
    if ((key != "rd.driver.pre" && !old_key) || !word.word.value) continue;
    for (const std::string_view name : split_at(*word.word.value, ','))
      if (canonical_module_name(name) == driver) return true;
  }
  return false;
}

Judgement judge_driver(const Facts& facts, const BootImage& boot_image, const Image& image) {
  const std::string& kernel = boot_image.kernel;
  DriverState state = driver_state(image, kernel, driver, guest_modules(facts, kernel));
  Judgement judgement{state.builtin, std::move(state.missing), std::move(state.unreadable)};
  const bool by_name =
      std::all_of(boot_image.entries.begin(), boot_image.entries.end(),
                  [&](const BootEntry* entry) { return is_loaded_by_name(facts, *entry); });
  if (state.builtin || by_name || !module_directory(image, kernel)) return judgement;
  judge_aliases(image, kernel, judgement);
  judge_rule(image, judgement);
  return judgement;
}

Finding without_image(const Facts& facts, const BootImage& boot_image) {
  if (!facts.kernels || boot_image.kernel.empty())
    return finding_on(boot_image, boot_image.doubt(),
                      fmt::format("{} names no initrd, and what is built into its kernel is not "
                                  "known.",
                                  boot_image.path));
  if (builtin_modules(facts, boot_image.kernel).contains(std::string(driver)))
    return finding_on(boot_image, Status::pass,
                      fmt::format("{} boots without an initramfs; kernel {} has nvme built in.",
                                  boot_image.whose(), printable(boot_image.kernel)));
  Finding finding = finding_on(
      boot_image, boot_image.fault(),
      fmt::format("{} names no initrd, and kernel {} has no nvme driver built in, so nothing can "
                  "load one. {}",
                  boot_image.path, printable(boot_image.kernel), emergency));
  finding.evidence.push_back(
      {boot_image.path, 0, "no initrd line", "initrd /boot/initramfs-KERNEL.img"});
  finding.remedy =
      Remedy{"",
             "Build an initramfs with dracut and name it on an initrd line of the entry.",
             {"dracut", "-f", "/boot/initramfs-" + boot_image.kernel + ".img", boot_image.kernel}};
  return finding;
}

Finding cannot_tell(const BootImage& boot_image, std::string_view why) {
  return finding_on(
      boot_image, boot_image.doubt(),
      fmt::format("Whether the initramfs of {} brings the nvme driver cannot be told: "
                  "{}.",
                  boot_image.whose(), why));
}

std::string why_more(const Image& image) {
  if (image.damage) return image.damage->what;
  return fmt::format("its files lie packed in {}", image.opaque_parts.front());
}

Finding lacks_driver(const Facts& facts, const BootImage& boot_image, const Judgement& judgement) {
  Finding finding =
      finding_on(boot_image, boot_image.fault(),
                 fmt::format("The initramfs of {} cannot load the nvme driver for kernel {}. {}",
                             boot_image.whose(), printable(boot_image.kernel), emergency));
  for (const std::string& missing : judgement.missing)
    finding.evidence.push_back(
        {boot_image.path, 0, "not there: " + missing, "nvme and all that it needs"});
  finding.remedy = rebuild_remedy(facts, boot_image, {std::string(driver)});
  return finding;
}

Finding judge(const Facts& facts, const BootImage& boot_image) {
  if (boot_image.image == nullptr) return without_image(facts, boot_image);
  if (auto finding = not_opened(boot_image)) return *finding;
  const Image& image = **boot_image.image;
  if (boot_image.kernel.empty())
    return cannot_tell(boot_image, "the release of the kernel it is for is not known");
  const Judgement judgement = judge_driver(facts, boot_image, image);
  if (judgement.builtin)
    return finding_on(boot_image, Status::pass,
                      fmt::format("Kernel {} of {} has nvme built in.",
                                  printable(boot_image.kernel), boot_image.whose()));
  if (!facts.kernels && facts.kernels.error().kind != ErrorKind::missing)
    return cannot_tell(boot_image, facts.kernels.error().message());
  if (judgement.missing.empty() && judgement.unreadable.empty())
    return finding_on(boot_image, Status::pass,
                      fmt::format("The initramfs of {} has nvme, all that it needs, and the alias "
                                  "that loads it, for kernel {}.",
                                  boot_image.whose(), printable(boot_image.kernel)));
  if (image.may_hold_more()) return cannot_tell(boot_image, why_more(image));
  if (judgement.missing.empty()) return cannot_tell(boot_image, judgement.unreadable.front());
  return lacks_driver(facts, boot_image, judgement);
}

std::vector<Finding> run(const Facts& facts) {
  return judge_images(facts, judge);
}

}  // namespace

extern const Check initramfs_driver_check{"initramfs.driver", "initramfs can load the NVMe driver",
                                          &run};

}  // namespace preflight
