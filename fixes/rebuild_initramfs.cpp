// SPDX-License-Identifier: MIT
// Images are rebuilt for the kernel of the entry that loads them, whichever kernel runs now.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// An image's findings name its file, all files of the entry that loads it, or the entry itself
/// when it loads none.
bool is_about(const Finding& finding, const BootEntry& entry) {
  const std::string& subject = finding.subject;
  if (entry.initrds.empty()) return subject == entry.path;
  return subject == entry.image_key() ||
         subject == fmt::format("{}", fmt::join(entry.initrds, " + ")) ||
         std::find(entry.initrds.begin(), entry.initrds.end(), subject) != entry.initrds.end();
}

Result<std::string> image_of(const BootEntry& entry) {
  const std::vector<std::string>& paths = entry.initrds;
  if (paths.empty())
    return fail(ErrorKind::unsupported, entry.path,
                "this entry names no initrd, so there is no image to build anew");
  if (paths.size() == 1) return paths[0];
  if (std::count_if(paths.begin(), paths.end(), is_dracuts) != 1)
    return fail(ErrorKind::unsupported, entry.path,
                "loads several initrd files, and which of them dracut makes is not clear");
  return *std::find_if(paths.begin(), paths.end(), is_dracuts);
}

Result<BuildImage> build_for(const Facts& facts, const BootEntry& entry) {
  Result<std::string> image = image_of(entry);
  if (!image) return tl::unexpected(image.error());
  if (find_kernel(facts.kernels, entry.kernel) == nullptr)
    return fail(ErrorKind::missing, *image,
                fmt::format("cannot be built anew: kernel {} has no directory in /lib/modules",
                            printable(entry.kernel)));
  return BuildImage{*image, entry.kernel, entry.rescue};
}

Result<void> add_step(const BuildImage& build, std::vector<Step>& steps) {
  for (const Step& step : steps) {
    const BuildImage& other = std::get<BuildImage>(step);
    if (other.path != build.path) continue;
    if (other.kernel == build.kernel) return {};
    return fail(ErrorKind::unsupported, build.path,
                fmt::format("is loaded for two kernels, {} and {}", other.kernel, build.kernel));
  }
  steps.emplace_back(build);
  return {};
}

/// Adds what rebuilds the image a finding is about. One that cannot be built refuses the run when
/// the boot fails without it, and is left as it is when the finding only warns.
Result<void> add_image(const Facts& facts, const Finding& finding, std::vector<Step>& steps) {
  bool found = false;
  for (const BootEntry& entry : facts.boot->entries) {
    if (!is_about(finding, entry)) continue;
    found = true;
    Result<BuildImage> build = build_for(facts, entry);
    if (!build && finding.status == Status::warn) continue;
    if (!build) return tl::unexpected(build.error());
    if (auto done = add_step(*build, steps); !done) return done;
  }
  if (!found && finding.status == Status::fail)
    return fail(ErrorKind::missing, finding.subject, "no boot entry loads this image");
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
