// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/text.h"
#include "checks/boot_images.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

/// Early microcode (kernel/x86/microcode) and the mark of dracut's early archive; the kernel looks
/// for them there before it unpacks anything (Documentation/arch/x86/microcode.rst).
bool is_early(const std::string& name) {
  return name == "kernel" || name.starts_with("kernel/") || name == "early_cpio";
}

/// What keeps the kernel from getting an initramfs out of it; empty when nothing does.
std::string fault_of(const Image& image, const std::string& kernel) {
  if (image.damage) return "it is damaged";
  if (image.segments.empty() || image.files.empty()) return "it is empty";
  for (const ImageSegment& segment : image.segments)
    if (!kernel_unpacks(kernel, segment.compression))
      return fmt::format("kernel {} does not unpack {}", printable(kernel),
                         to_string(segment.compression));
  const bool early_only = std::all_of(image.files.begin(), image.files.end(),
                                      [](const auto& file) { return is_early(file.first); });
  return early_only ? "it holds early microcode and nothing else" : "";
}

/// Indexes that are there as text and as binary: initramfs.driver knows what one of them is worth.
bool is_twofold(std::string_view name) {
  return name.find("/modules.dep") != std::string_view::npos ||
         name.find("/modules.alias") != std::string_view::npos;
}

/// A file that the checks look into and that is too large to have been kept.
std::string unread_content(const Image& image) {
  for (const auto& [name, file] : image.files)
    if (S_ISREG(file.mode) && file.size > 0 && !file.content && is_wanted_content(name) &&
        !is_twofold(name))
      return name;
  return unread_words(image);
}

Finding missing_file(const BootImage& boot_image) {
  if (boot_image.decisive || boot_image.image->error().kind == ErrorKind::denied)
    return *not_opened(boot_image);
  const Error& error = boot_image.image->error();
  if (error.kind != ErrorKind::missing && error.kind != ErrorKind::wrong_type)
    return *not_opened(boot_image);
  Finding finding = finding_on(boot_image, Status::warn,
                               fmt::format("The initramfs of {} is not there: {}. That entry does "
                                           "not boot, now or on NVMe.",
                                           boot_image.whose(), error.message()));
  finding.evidence.push_back({error.path, 0, error.what, "a readable image file"});
  finding.evidence.push_back({boot_image.entries.front()->path, 0, "names it as initrd", ""});
  finding.remedy =
      Remedy{"", "Remove the boot entry if it is a leftover, or rebuild its image.", {}};
  return finding;
}

Finding judge(const Facts& facts, const BootImage& boot_image) {
  if (boot_image.image == nullptr)
    return finding_on(
        boot_image, Status::skip,
        fmt::format("{} names no initrd, so there is no image to read.", boot_image.path));
  if (!*boot_image.image) return missing_file(boot_image);
  const Image& image = **boot_image.image;
  if (image.may_hold_more()) {
    const std::string why = image.damage ? image.damage->what
                                         : fmt::format(
                                               "its files lie packed in {}, which this tool "
                                               "does not look into",
                                               image.opaque_parts.front());
    return finding_on(boot_image, boot_image.doubt(),
                      fmt::format("The initramfs of {} could not be read whole: {}. The kernel may "
                                  "well boot it, but what it holds cannot be told.",
                                  boot_image.whose(), why));
  }
  const std::string fault = fault_of(image, boot_image.kernel);
  if (const std::string unread = fault.empty() ? unread_content(image) : ""; !unread.empty())
    return finding_on(boot_image, boot_image.doubt(),
                      fmt::format("The initramfs of {} could not be read whole: {} in it is larger "
                                  "than such a file is anywhere, or all of them together are.",
                                  boot_image.whose(), printable(unread)));
  if (fault.empty())
    return finding_on(boot_image, Status::pass,
                      fmt::format("The initramfs of {} unpacks to its end: {} files.",
                                  boot_image.whose(), image.files.size()));
  Finding finding = finding_on(
      boot_image, boot_image.fault(),
      fmt::format(
          "The initramfs of {} is not usable: {}. The kernel finds no root file system with "
          "it and does not boot, on whatever controller.",
          boot_image.whose(), fault));
  finding.evidence.push_back({boot_image.path, 0, image.damage ? image.damage->what : fault,
                              "an initramfs that unpacks to its end"});
  finding.remedy = rebuild_remedy(facts, boot_image, {});
  return finding;
}

std::vector<Finding> run(const Facts& facts) {
  if (auto nothing = no_boot_images(facts)) return {*nothing};
  std::vector<Finding> findings;
  std::vector<std::string> seen;
  for (const BootImage& boot_image : boot_images(*facts.boot, facts.images)) {
    // Whether it can be read does not depend on the kernel; the first entry that uses it speaks for
    // all, unless a later one makes it decisive.
    const auto before = std::find(seen.begin(), seen.end(), boot_image.path);
    Finding finding = judge(facts, boot_image);
    if (before == seen.end()) {
      seen.push_back(boot_image.path);
      findings.push_back(std::move(finding));
    } else if (boot_image.decisive) {
      findings[static_cast<std::size_t>(before - seen.begin())] = std::move(finding);
    }
  }
  return findings;
}

}  // namespace

extern const Check initramfs_readable_check{"initramfs.readable", "initramfs images can be read",
                                            &run};

}  // namespace preflight
