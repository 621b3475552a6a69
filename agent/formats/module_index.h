// SPDX-License-Identifier: MIT
// The modules of one kernel inside an image (or a guest), as kmod finds them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/image.h"

namespace preflight {

/// "nvme-core" and "nvme_core" are one module; ".ko", ".ko.gz", ".ko.xz", ".ko.zst" are dropped.
std::string canonical_module_name(std::string_view file_or_name);

/// More modules than any kernel has (EL 9 builds some 4500).
inline constexpr std::size_t modules_cap = 100000;

/// The canonical names in a modules.builtin file (one "kernel/drivers/nvme/host/nvme.ko" a line),
/// or before the colons of a modules.dep. nullopt when there are more than `cap`.
using ModuleNames = std::optional<std::set<std::string>>;
ModuleNames builtin_names(std::string_view text, std::size_t cap = modules_cap);
ModuleNames dependency_names(std::string_view text, std::size_t cap = modules_cap);

/// What each module of a modules.dep needs, in canonical names. nullopt when that is more than
/// `cap` names, those of the modules counted.
using ModuleNeeds = std::map<std::string, std::set<std::string>>;
std::optional<ModuleNeeds> module_needs(std::string_view text, std::size_t cap);

/// modules.dep: module path -> paths it needs, in the file's order. Paths are relative to the
/// module directory. Malformed lines (no colon) are left out and counted.
struct ModuleDependencies {
  struct Line {
    std::string path;
    std::vector<std::string> needs;
    int line = 0;
  };
  std::map<std::string, Line> by_name;  // canonical name -> line
  int malformed_lines = 0;
};
ModuleDependencies parse_dependencies(std::string_view text);

/// The module that modules.alias gives for a device's modalias string (fnmatch patterns, as kmod),
/// with the 1-based line of the alias. All matches, in the file's order.
struct AliasMatch {
  std::string module;
  int line = 0;
};
std::vector<AliasMatch> match_alias(std::string_view modules_alias, std::string_view modalias);

/// bhyve's and QEMU's NVMe controllers as the kernel names them to udev.
inline constexpr std::string_view bhyve_nvme_modalias =
    "pci:v0000FB5Dd00000A0Asv00000000sd00000000bc01sc08i02";
inline constexpr std::string_view qemu_nvme_modalias =
    "pci:v00001B36d00000010sv00001AF4sd00001100bc01sc08i02";

/// The directory with this kernel's modules in the image ("usr/lib/modules/K"), if there is one.
std::optional<std::string> module_directory(const Image& image, std::string_view kernel);

/// Kernel versions the image has module directories for, sorted.
std::vector<std::string> module_directories(const Image& image);

/// Whether a driver would load from the image under this kernel by an explicit request: its file,
/// its closure, and the dependency index that kmod reads. Aliases (alias_state) and blockers are
/// judged separately.
///
/// kmod reads modules.dep.bin alone (libkmod.c kmod_search_moddep), so that is what counts. The
/// text of modules.dep stands for it only where the .bin was too large to be kept; an empty .bin is
/// no index (libkmod-index.c index_mm_open).
struct DriverState {
  bool builtin = false;
  std::vector<std::string> present;     // image paths of the driver and its closure
  std::vector<std::string> missing;     // what is missing, each in words fit for an evidence line
  std::vector<std::string> unreadable;  // what could not be looked into: nothing can be told then
  bool loads() const { return builtin || (missing.empty() && unreadable.empty()); }
};

/// What the guest itself knows of a kernel's modules, in canonical names.
struct GuestModules {
  std::set<std::string> builtin;  // they count for that kernel
  ModuleNeeds needs;              // by the guest's modules.dep; empty: unknown
};

/// The image's own index is not enough: dracut runs depmod over what it has copied, and for a
/// module that was left out (omit_drivers) depmod lists no dependency. So all that the guest's
/// modules.dep has the driver need must be there too. Seen in an image made with --omit-drivers
/// nvme_core (dracut 106): its modules.dep gives nvme without nvme-core, whose symbols nvme needs.
DriverState driver_state(const Image& image, std::string_view kernel, std::string_view module,
                         const GuestModules& guest);

/// The modules that the image's alias index (modules.alias.bin, by the same rule) gives under this
/// kernel for a modalias. Lines are those of modules.alias, 0 for matches from the .bin.
struct AliasState {
  std::string path;  // of the .bin
  std::vector<AliasMatch> matches;
  std::optional<std::string> missing;     // why kmod finds nothing, fit for an evidence line
  std::optional<std::string> unreadable;  // why it cannot be told

  bool gives(std::string_view canonical_module) const;
};

AliasState alias_state(const Image& image, std::string_view kernel, std::string_view modalias);

}  // namespace preflight
