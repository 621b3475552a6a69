// SPDX-License-Identifier: MIT
// What lies beside the way that is booted: firmware, kdump, multipath, and names of the old
// controller anywhere else in the configuration. None of it stops the boot by itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

struct Firmware {
  bool uefi = false;      // the running firmware, or an EFI system partition's content in a tree
  bool esp_seen = false;  // /boot/efi has content: the ESP is mounted there
  std::string esp;        // "/boot/efi"
  std::vector<std::string> removable_loaders;  // "/boot/efi/EFI/BOOT/BOOTX64.EFI"
};

struct Kdump {
  bool enabled = false;             // kdump.service is wanted by a target
  std::vector<std::string> images;  // /boot/initramfs-Kkdump.img
};

struct Multipath {
  bool enabled = false;  // multipathd is wanted by a target
  std::string path;      // the configuration that was read; empty when there is none
  std::string text;
  std::optional<Error> error;  // it is there and cannot be read
};

/// A line that names the old controller's disk.
struct NameHit {
  std::string path;
  int line = 0;
  std::string name;  // that word, cut to 200 bytes; the rest of the line is nobody's business
};

struct Surroundings {
  Firmware firmware;
  Kdump kdump;
  Multipath multipath;
  std::vector<NameHit> names;  // at most 200
  bool names_complete = true;  // false when the search stopped at its limits or could not look
};

Surroundings collect_surroundings(const Guest& guest);

/// Lines of a text that name a virtio-blk disk: /dev/vdX, a vdX pattern of a udev rule,
/// by-id/virtio-*, by-path, unit names (dev-vdX). Comment lines ("#") do not count. Pure.
std::vector<NameHit> find_controller_names(const std::string& path, std::string_view text);

/// The effective defaults/find_multipaths of a multipath.conf ("" when unset) and its line.
struct FindMultipaths {
  std::string value;
  int line = 0;
  bool nvme_blacklisted = false;
};
FindMultipaths read_find_multipaths(std::string_view text);

}  // namespace preflight
