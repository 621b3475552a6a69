// SPDX-License-Identifier: MIT
// What the checks of the initramfs have in common: which image boots with which kernel, and how
// much depends on it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/facts.h"
#include "agent/finding.h"
#include "agent/formats/module_index.h"

namespace preflight {

/// One initramfs under one kernel, with the boot entries that use the two together.
struct BootImage {
  std::vector<const BootEntry*> entries;  // in menu order, never empty
  std::string path;                       // its files, or the entry's own when it names no initrd
  std::string kernel;                     // release; empty when it cannot be told
  const Result<Image>* image = nullptr;   // nullptr when the entry names no initrd
  bool decisive = false;  // of the default entry, or of any while the default is not known

  /// The status of a fault in it.
  Status fault() const { return decisive ? Status::fail : Status::warn; }
  /// The status of what cannot be told about it: of an image that does not boot by itself it
  /// decides nothing.
  Status doubt() const { return decisive ? Status::unknown : Status::warn; }
  /// "the default entry", "entry X", "rescue entry X".
  std::string whose() const;
};

/// Every pair of image and kernel in the menu, in its order.
std::vector<BootImage> boot_images(const BootMenu& menu, const Images& images);

/// When there is nothing to look at, the one finding that says why: unknown when the menu could not
/// be read, skip when it is empty.
std::optional<Finding> no_boot_images(const Facts& facts);

/// When its file could not be opened, the finding that says so without reporting one fault twice:
/// skip with a reference to the check that reports it, unknown when nobody could look.
std::optional<Finding> not_opened(const BootImage& boot_image);

/// What is built into the guest's kernel of that release, empty when that is not known.
const std::set<std::string>& builtin_modules(const Facts& facts, const std::string& kernel);

/// What the guest knows of that kernel's modules, empty when it has none.
GuestModules guest_modules(const Facts& facts, const std::string& kernel);

/// A rebuild with dracut, where the guest has the kernel and its modules have what is missing;
/// otherwise what to do by hand.
Remedy rebuild_remedy(const Facts& facts, const BootImage& boot_image,
                      const std::vector<std::string>& modules);

/// One finding for every pair of image and kernel in the menu, or the one of no_boot_images().
std::vector<Finding> judge_images(const Facts& facts,
                                  Finding (*judge)(const Facts&, const BootImage&));

Finding finding_on(const BootImage& boot_image, Status status, std::string summary);

}  // namespace preflight
