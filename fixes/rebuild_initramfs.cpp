// SPDX-License-Identifier: MIT
// Images are rebuilt for the kernel of the entry that loads them, whichever kernel runs now.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/text.h"
#include "agent/step.h"

namespace preflight {

namespace {

constexpr std::string_view fix_id = "rebuild-initramfs";

bool asks_for_it(const Finding& finding) {
  return finding.remedy && finding.remedy->fix == fix_id &&
         (finding.status == Status::fail || finding.status == Status::warn);
}

/// An entry may load several files, one behind the other (microcode, tuned's): dracut's is the one
/// that bears its name.
bool is_dracuts(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("initramfs-") || name.starts_with("initrd");
}

/// The guest path of the image a finding is about; its subject is a path, or several joined by
/// '\n'.
Result<std::string> image_of(const Finding& finding) {
  const std::vector<std::string_view> paths = split_lines(finding.subject);
  if (paths.size() == 1) return std::string(paths[0]);
  if (std::count_if(paths.begin(), paths.end(), is_dracuts) != 1)
    return fail(ErrorKind::unsupported, finding.subject,
                "several initrd files, and which of them dracut makes is not clear");
  return std::string(*std::find_if(paths.begin(), paths.end(), is_dracuts));
}

std::vector<const BootEntry*> entries_with(const BootMenu& menu, const std::string& image) {
  std::vector<const BootEntry*> entries;
  for (const BootEntry& entry : menu.entries)
    if (std::find(entry.initrds.begin(), entry.initrds.end(), image) != entry.initrds.end())
      entries.push_back(&entry);
  return entries;
}

/// Adds what rebuilds one image. An image that nothing can be built for (its kernel's modules are
/// gone) is an error when it fails the boot, and left as it is when it only warns.
Result<void> add_image(const Facts& facts, const Finding& finding, std::vector<Step>& steps) {
  Result<std::string> image = image_of(finding);
  if (!image) return tl::unexpected(image.error());
  const std::vector<const BootEntry*> entries = entries_with(*facts.boot, *image);
  const auto buildable = std::find_if(entries.begin(), entries.end(), [&](const BootEntry* entry) {
    return find_kernel(facts.kernels, entry->kernel) != nullptr;
  });
  if (buildable == entries.end()) {
    if (finding.status == Status::warn) return {};
    return fail(ErrorKind::missing, *image,
                entries.empty() ? std::string("no boot entry loads this image")
                                : fmt::format("cannot be built anew: kernel {} has no directory in "
                                              "/lib/modules",
                                              entries.front()->kernel));
  }
  const BuildImage build{*image, (*buildable)->kernel, (*buildable)->rescue};
  for (const BootEntry* entry : entries)
    if (entry->kernel != build.kernel)
      return fail(ErrorKind::unsupported, *image,
                  fmt::format("is loaded for two kernels, {} and {}", build.kernel, entry->kernel));
  const bool known = std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return std::get<BuildImage>(step).path == build.path;
  });
  if (!known) steps.push_back(build);
  return {};
}

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>& findings) {
  std::vector<Step> steps;
  if (std::none_of(findings.begin(), findings.end(), asks_for_it)) return steps;
  if (!facts.boot) return tl::unexpected(facts.boot.error());
  if (!facts.kernels) return tl::unexpected(facts.kernels.error());
  for (const Finding& finding : findings) {
    if (!asks_for_it(finding)) continue;
    if (auto done = add_image(facts, finding, steps); !done) return tl::unexpected(done.error());
  }
  return steps;
}

}  // namespace

extern const Fix rebuild_initramfs_fix;
const Fix rebuild_initramfs_fix{fix_id, plan};

}  // namespace preflight
