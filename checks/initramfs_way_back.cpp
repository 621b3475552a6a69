// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/check.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"
#include "checks/boot_images.h"

namespace preflight {

namespace {

/// The disk's driver, and its transport where that is a module: a virtio disk of bhyve and of QEMU
/// is a PCI device. A kernel that lists virtio_pci nowhere has it built in.
std::vector<std::string> needed_drivers(const Facts& facts, const std::string& release) {
  std::vector<std::string> drivers{"virtio_blk"};
  const Kernel* const kernel = find_kernel(facts.kernels, release);
  if (kernel != nullptr && kernel->modular.contains("virtio_pci"))
    drivers.emplace_back("virtio_pci");
  return drivers;
}

Finding judge(const Facts& facts, const BootImage& boot_image) {
  if (boot_image.image == nullptr)
    return finding_on(boot_image, Status::skip,
                      fmt::format("{} names no initrd.", boot_image.path));
  if (auto finding = not_opened(boot_image)) return *finding;
  const Image& image = **boot_image.image;
  std::vector<std::string> missing, unreadable, lacking;
  for (const std::string& driver : needed_drivers(facts, boot_image.kernel)) {
    const DriverState state =
        driver_state(image, boot_image.kernel, driver, guest_modules(facts, boot_image.kernel));
    if (!state.loads()) lacking.push_back(driver);
    missing.insert(missing.end(), state.missing.begin(), state.missing.end());
    unreadable.insert(unreadable.end(), state.unreadable.begin(), state.unreadable.end());
  }
  if (lacking.empty())
    return finding_on(
        boot_image, Status::pass,
        fmt::format("The initramfs of {} still boots from the virtio disk.", boot_image.whose()));
  if (boot_image.kernel.empty() || image.may_hold_more() || missing.empty())
    return finding_on(boot_image, boot_image.doubt(),
                      fmt::format("Whether the initramfs of {} still boots from the virtio disk "
                                  "cannot be told: it could not be looked into whole.",
                                  boot_image.whose()));
  Finding finding = finding_on(
      boot_image, Status::warn,
      fmt::format("The initramfs of {} cannot load {} for kernel {}: switched back to the virtio "
                  "disk, the guest would not find its root file system.",
                  boot_image.whose(), fmt::join(lacking, " and "), printable(boot_image.kernel)));
  for (const std::string& text : missing)
    finding.evidence.push_back({boot_image.path, 0, "not there: " + text,
                                fmt::format("{} and what it needs", fmt::join(lacking, " and "))});
  finding.remedy = rebuild_remedy(facts, boot_image, lacking);
  return finding;
}

std::vector<Finding> run(const Facts& facts) {
  if (auto nothing = no_boot_images(facts)) return {*nothing};
  std::vector<Finding> findings;
  for (const BootImage& boot_image : boot_images(*facts.boot, facts.images))
    if (boot_image.decisive) findings.push_back(judge(facts, boot_image));
  if (findings.empty()) {
    Finding finding;
    finding.subject = "/boot/loader/entries";
    finding.status = Status::skip;
    finding.summary = "The menu's default names no entry: see boot.default-entry.";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

extern const Check initramfs_way_back_check{"initramfs.way-back",
                                            "initramfs still boots the old controller", &run};

}  // namespace preflight
