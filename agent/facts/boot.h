// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/formats/image.h"
#include "agent/guest/guest.h"
#include "agent/progress.h"
#include "agent/result.h"

namespace preflight {

/// One boot loader entry as GRUB's blscfg reads it.
struct BootEntry {
  std::string id;    // the file's name without ".conf"
  std::string path;  // guest path of the file
  std::string title;
  std::string version;
  std::string kernel;      // release of the kernel it boots, from the image's own header if it has
                           // one, else from the file's name or `version`
  std::string linux_path;  // guest path of the kernel image
  std::vector<std::string> initrds;  // guest paths, in load order
  std::string options;               // the command line, variables expanded
  std::string options_path;          // where the options text stands (the entry, or grubenv)
  int options_line = 0;
  bool rescue = false;
  bool is_default = false;  // boots by itself: next time, or after a one-shot choice was used up
  std::optional<Error> kernel_error;           // the kernel image is not a readable regular file
  std::map<std::string, Error> initrd_errors;  // the same per initrd path

  /// Key into BootFacts::images: its initrd paths joined by '\n'; empty when it names none.
  std::string image_key() const;
};

struct BootMenu {
  std::vector<BootEntry> entries;            // in menu order: index 0 is what GRUB shows first
  std::optional<std::size_t> default_index;  // of what boots next
  std::string default_reason;                // how the default was found, or why it could not be
  bool bypassed = false;                     // what boots is known to be none of these entries
  std::string default_path;                  // the file that decides: grubenv or grub.cfg
  std::vector<Error> notes;                  // entries left out and odd lines, with file and line
  std::vector<std::string> unified_kernel_images;  // guest paths, or as an entry names them
  std::string ostree;  // what says that this is an ostree deployment; empty when nothing does
};

/// The menu that GRUB's blscfg makes and the entry it boots. `entries` is empty when the directory
/// is empty, or missing while there are unified kernel images. Errors: missing (no
/// /boot/loader/entries), denied, too_large (more entries than any menu has), unsupported (live,
/// but the guest's /boot is not mounted).
Result<BootMenu> collect_boot_menu(const Guest& guest, const Result<std::string>& machine_id);

/// One initramfs as GRUB hands it to the kernel: the entry's initrd files, one behind the other.
using Images = std::map<std::string, Result<Image>>;
Images collect_images(const Guest& guest, const Result<BootMenu>& menu,
                      const ProgressSink& progress = {});

/// Reads one image of the guest with the contents the checks want.
Result<Image> read_guest_image(const Root& root, const std::vector<std::string>& paths,
                               const ImageLimits& limits = {});

}  // namespace preflight
