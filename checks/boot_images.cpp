// SPDX-License-Identifier: MIT
#include "checks/boot_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/formats/module_index.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

/// The release whose modules count. A rescue image is made for the kernel it was copied from, whose
/// release neither the entry's name nor its file's name has (dracut 51-dracut-rescue.install).
std::string kernel_of(const BootEntry& entry, const Result<Image>* image) {
  const bool unnamed = entry.kernel.empty() || entry.kernel.starts_with("0-rescue");
  if (!unnamed) return entry.kernel;
  if (image == nullptr || !*image) return {};
  const std::vector<std::string> kernels = module_directories(**image);
  return kernels.size() == 1 ? kernels.front() : std::string();
}

std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : " + ") + path;
  return text;
}

}  // namespace

std::string BootImage::whose() const {
  for (const BootEntry* entry : entries)
    if (entry->is_default) return "the default entry";
  const BootEntry& first = *entries.front();
  return fmt::format("{} {}", first.rescue ? "rescue entry" : "entry", printable(first.id));
}

std::vector<BootImage> boot_images(const BootMenu& menu, const Images& images) {
  std::vector<BootImage> found;
  for (const BootEntry& entry : menu.entries) {
    const std::string key = entry.image_key();
    const auto image = images.find(key);
    const Result<Image>* const read = image == images.end() ? nullptr : &image->second;
    const std::string kernel = kernel_of(entry, read);
    auto same = std::find_if(found.begin(), found.end(), [&](const BootImage& other) {
      return !key.empty() && other.kernel == kernel && other.entries.front()->image_key() == key;
    });
    if (same == found.end()) {
      const std::string path = key.empty() ? entry.path : joined(entry.initrds);
      same = found.insert(found.end(), BootImage{{}, path, kernel, read, false});
    }
    same->entries.push_back(&entry);
    same->decisive = same->decisive || entry.is_default || !menu.default_index;
  }
  return found;
}

std::optional<Finding> no_boot_images(const Facts& facts) {
  Finding finding;
  if (!facts.boot) {
    finding.subject = facts.boot.error().path;
    finding.status = Status::unknown;
    finding.summary = fmt::format(
        "The boot entries could not be read, so it is not known which "
        "initramfs boots: {}.",
        facts.boot.error().message());
    return finding;
  }
  if (!facts.boot->entries.empty()) return std::nullopt;
  finding.subject = "/boot/loader/entries";
  finding.status = Status::skip;
  finding.summary = "There is no boot entry, so there is no initramfs to look into.";
  return finding;
}

std::optional<Finding> not_opened(const BootImage& boot_image) {
  if (boot_image.image == nullptr || *boot_image.image) return std::nullopt;
  const Error& error = boot_image.image->error();
  if (error.kind == ErrorKind::missing || error.kind == ErrorKind::wrong_type)
    return finding_on(
        boot_image, Status::skip,
        fmt::format("The initramfs of {} is not there ({}): see {}.", boot_image.whose(),
                    error.message(),
                    boot_image.decisive ? "boot.default-entry" : "initramfs.readable"));
  return finding_on(boot_image, boot_image.doubt(),
                    fmt::format("The initramfs of {} could not be read: {}.", boot_image.whose(),
                                error.message()));
}

const std::set<std::string>& builtin_modules(const Facts& facts, const std::string& kernel) {
  static const std::set<std::string> none;
  const Kernel* const found = find_kernel(facts.kernels, kernel);
  return found == nullptr ? none : found->builtin;
}

GuestModules guest_modules(const Facts& facts, const std::string& kernel) {
  const Kernel* const found = find_kernel(facts.kernels, kernel);
  return found == nullptr ? GuestModules{} : GuestModules{found->builtin, found->needs};
}

Remedy rebuild_remedy(const Facts& facts, const BootImage& boot_image,
                      const std::vector<std::string>& modules) {
  const Kernel* const kernel = find_kernel(facts.kernels, boot_image.kernel);
  if (kernel == nullptr)
    return {"",
            fmt::format("The guest has no /lib/modules/{} to build this image from: install that "
                        "kernel again, or remove the boot entry if it is a leftover.",
                        boot_image.kernel.empty() ? "KERNEL" : printable(boot_image.kernel)),
            {}};
  for (const std::string& module : modules)
    if (!kernel->modular.empty() && !kernel->modular.contains(module) &&
        !kernel->builtin.contains(module))
      return {"",
              fmt::format("Kernel {} has no module {} installed, so a rebuild cannot bring it: "
                          "install its kernel-modules package, then rebuild the image.",
                          printable(kernel->version), module),
              {}};
  return {
      "rebuild-initramfs",
      "Rebuild this image with dracut.",
      {"dracut", "-f",
       boot_image.entries.front()->initrds.empty() ? "/boot/initramfs-" + kernel->version + ".img"
                                                   : boot_image.entries.front()->initrds.back(),
       kernel->version}};
}

std::vector<Finding> judge_images(const Facts& facts,
                                  Finding (*judge)(const Facts&, const BootImage&)) {
  if (auto nothing = no_boot_images(facts)) return {*nothing};
  std::vector<Finding> findings;
  for (const BootImage& boot_image : boot_images(*facts.boot, facts.images))
    findings.push_back(judge(facts, boot_image));
  return findings;
}

Finding finding_on(const BootImage& boot_image, Status status, std::string summary) {
  Finding finding;
  finding.subject = boot_image.path;
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
}

}  // namespace preflight
