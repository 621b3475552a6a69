// SPDX-License-Identifier: MIT
#include "agent/transaction/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "agent/formats/module_index.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

using Names = std::set<std::string>;

// Where the modules live that lead to a root file system. Others (display, input, sound, network
// cards) come and go with the hardware dracut looks at.
constexpr std::array<std::string_view, 10> storage_directories{"kernel/fs/",
                                                               "kernel/crypto/",
                                                               "kernel/lib/",
                                                               "kernel/block/",
                                                               "kernel/drivers/md/",
                                                               "kernel/drivers/block/",
                                                               "kernel/drivers/nvme/",
                                                               "kernel/drivers/virtio/",
                                                               "kernel/drivers/scsi/virtio_scsi.",
                                                               "kernel/drivers/nvdimm/"};

// Devices of a virtual machine that no root lies on.
constexpr std::array<std::string_view, 7> harmless_modules{
    "floppy", "loop", "brd", "virtio_balloon", "virtio_mem", "virtio_input", "virtio_dma_buf"};

// dracut modules that a root file system may need to come up. Others paint, log or describe.
constexpr std::array<std::string_view, 22> root_dracut_modules{"base",
                                                               "systemd",
                                                               "systemd-initrd",
                                                               "dracut-systemd",
                                                               "udev-rules",
                                                               "kernel-modules",
                                                               "fs-lib",
                                                               "rootfs-block",
                                                               "usrmount",
                                                               "dm",
                                                               "lvm",
                                                               "crypt",
                                                               "mdraid",
                                                               "dmraid",
                                                               "multipath",
                                                               "btrfs",
                                                               "iscsi",
                                                               "nfs",
                                                               "nvmf",
                                                               "clevis",
                                                               "tpm2-tss",
                                                               "fips"};

constexpr const char* dracut_modules_list = "usr/lib/dracut/modules.txt";

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

Names canonical_harmless() {
  Names names;
  for (const std::string_view name : harmless_modules) names.insert(canonical_module_name(name));
  return names;
}

/// Canonical names of the image's modules; with `storage_only` those that matter to the root, and
/// all outside of kernel/ (extra/, updates/: somebody wanted them).
Names modules_of(const Image& image, std::string_view kernel, bool storage_only) {
  Names names;
  const std::optional<std::string> directory = module_directory(image, kernel);
  if (!directory) return names;
  const std::string prefix = *directory + '/';
  for (auto file = image.files.lower_bound(prefix);
       file != image.files.end() && file->first.starts_with(prefix); ++file) {
    const std::string_view path = std::string_view(file->first).substr(prefix.size());
    if (path.find(".ko") == std::string_view::npos || path.find('/') == std::string_view::npos)
      continue;
    const auto below = [&](std::string_view directory_name) {
      return path.starts_with(directory_name);
    };
    const bool storage =
        !below("kernel/") ||
        std::any_of(storage_directories.begin(), storage_directories.end(), below) ||
        (below("kernel/arch/") && path.find("/crypto/") != std::string_view::npos);
    if (storage || !storage_only)
      names.insert(canonical_module_name(path.substr(path.rfind('/') + 1)));
  }
  return names;
}

void add_missing(std::vector<std::string>& faults, std::string_view what, const Names& gone) {
  constexpr std::size_t named = 8;
  if (gone.empty()) return;
  std::vector<std::string> some;
  for (const std::string& name : gone)
    if (some.size() < named) some.push_back(printable(name));
  faults.push_back(fmt::format("{} of the old image missing: {}{}", what, fmt::join(some, ", "),
                               gone.size() > named ? ", ..." : ""));
}

/// Modules that the old image has and this kernel still offers as modules.
void compare_modules(const Image& old, const Image& fresh, const Kernel& kernel,
                     std::vector<std::string>& faults) {
  const Names now = modules_of(fresh, kernel.version, false);
  const Names harmless = canonical_harmless();
  Names gone;
  for (const std::string& name : modules_of(old, kernel.version, true))
    if (kernel.modular.contains(name) && !now.contains(name) && !kernel.builtin.contains(name) &&
        !harmless.contains(name))
      gone.insert(name);
  add_missing(faults, "kernel modules", gone);
}

std::optional<Names> dracut_modules(const Image& image) {
  const std::string* text = image.content(dracut_modules_list);
  if (!text) return std::nullopt;
  Names names;
  for (const std::string_view word : split_words(*text)) names.emplace(word);
  return names;
}

void compare_dracut_modules(const Image& old, const Image& fresh,
                            std::vector<std::string>& faults) {
  const std::optional<Names> before = dracut_modules(old);
  const std::optional<Names> now = dracut_modules(fresh);
  if (!before || !now) return;
  Names gone;
  for (const std::string& name : *before)
    if (!now->contains(name) && holds(root_dracut_modules, name)) gone.insert(name);
  add_missing(faults, "dracut modules", gone);
}

bool is_regular(const ImageFile& file) {
  return (file.mode & 0170000u) == 0100000u;
}

/// Programs and settings the root depends on, and units that an administrator put in.
void compare_files(const Image& old, const Image& fresh, std::vector<std::string>& faults) {
  Names gone;
  for (const char* path : {"usr/sbin/lvm", "usr/sbin/cryptsetup", "usr/sbin/mdadm",
                           "usr/lib/systemd/systemd-cryptsetup", "init", "etc/crypttab"}) {
    const ImageFile* before = old.find(path);
    if (before && before->size > 0 && !fresh.find(path)) gone.insert(path);
  }
  constexpr std::string_view units = "etc/systemd/system/";
  for (auto file = old.files.lower_bound(units);
       file != old.files.end() && file->first.starts_with(units); ++file)
    if (is_regular(file->second) && file->first.ends_with(".service") && !fresh.find(file->first))
      gone.insert(file->first);
  add_missing(faults, "files", gone);
}

void check_driver(const Image& fresh, const Kernel& kernel, std::vector<std::string>& faults) {
  const GuestModules guest{kernel.builtin, kernel.needs};
  const DriverState nvme = driver_state(fresh, kernel.version, "nvme", guest);
  if (!nvme.loads())
    faults.push_back(fmt::format("nvme would not load: {} missing",
                                 nvme.missing.empty()
                                     ? "its module index is"
                                     : fmt::format("{}", fmt::join(nvme.missing, ", "))));
  if (nvme.builtin || !nvme.loads()) return;
  const AliasState alias = alias_state(fresh, kernel.version, bhyve_nvme_modalias);
  if (!alias.gives("nvme"))
    faults.emplace_back("its alias index does not lead from an NVMe controller to nvme");
}

void check_needed(const Image& fresh, const Kernel& kernel, const std::vector<std::string>& needed,
                  std::vector<std::string>& faults) {
  for (const std::string& name : needed)
    if (kernel.modular.contains(canonical_module_name(name)) &&
        !driver_state(fresh, kernel.version, name, {kernel.builtin, kernel.needs}).loads())
      faults.push_back(
          fmt::format("{}, which the root file system needs, would not load", printable(name)));
}

}  // namespace

std::vector<std::string> modules_of_root(const Result<Storage>& storage) {
  std::vector<std::string> modules;
  const std::optional<std::size_t> root = storage ? storage->mounted_at("/") : std::nullopt;
  if (!root) return modules;
  const BlockDevice& device = storage->devices[*root];
  if (!device.fstype.empty()) modules.push_back(device.fstype);
  std::vector<std::size_t> layers = storage->below(*root);
  layers.push_back(*root);
  const auto any = [&](std::string_view type) {
    return std::any_of(layers.begin(), layers.end(),
                       [&](std::size_t layer) { return storage->devices[layer].type == type; });
  };
  if (any("lvm") || any("crypt")) modules.emplace_back("dm_mod");
  if (any("crypt")) modules.emplace_back("dm_crypt");
  return modules;
}

std::vector<std::string> verify_new_image(const Image* old, const Image& fresh,
                                          const Kernel& kernel,
                                          const std::vector<std::string>& needed) {
  std::vector<std::string> faults;
  if (fresh.damage) return {fresh.damage->message()};
  if (fresh.may_hold_more())
    return {"a part of it cannot be looked into, so it cannot be verified"};
  for (const ImageSegment& segment : fresh.segments)
    if (!kernel_unpacks(kernel.version, segment.compression))
      return {fmt::format("kernel {} does not unpack {}: set compress=\"gzip\" for dracut",
                          printable(kernel.version), to_string(segment.compression))};
  check_driver(fresh, kernel, faults);
  check_needed(fresh, kernel, needed, faults);
  if (!old) return faults;
  const GuestModules guest{kernel.builtin, kernel.needs};
  const DriverState before = driver_state(*old, kernel.version, "virtio_blk", guest);
  const DriverState now = driver_state(fresh, kernel.version, "virtio_blk", guest);
  if (before.loads() && !now.loads())
    faults.emplace_back("virtio_blk is missing: there would be no way back to the old controller");
  compare_modules(*old, fresh, kernel, faults);
  compare_dracut_modules(*old, fresh, faults);
  compare_files(*old, fresh, faults);
  return faults;
}

}  // namespace preflight
