// SPDX-License-Identifier: MIT
// The volumes that rd.lvm.* of a command line names, as dracut reads them (modules.d/90lvm
// parse-lvm.sh and lvm_scan.sh of EL 8, 9 and 10), and whether the guest has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/lvm.h"
#include "agent/facts/release.h"
#include "agent/facts/storage.h"
#include "agent/formats/cmdline.h"

namespace preflight {

/// A volume group or an LV that a word names.
struct NamedVolume {
  std::string vg;
  std::string lv;           // empty: the whole volume group
  bool well_formed = true;  // lvm(8): names hold a-z A-Z 0-9 + _ . - alone

  std::string text() const { return lv.empty() ? vg : vg + "/" + lv; }
  bool covers(const VolumeName& volume) const;
};

/// dracut of EL 10 (107) dropped the names without dots: rd_LVM_*, rd_NO_LVM, rdblacklist, ...
bool knows_old_words(const Result<Release>& release);

/// What rd.lvm.lv=, rd.lvm.vg= and their old names name; nothing for other words. A value may hold
/// several, as parse-lvm.sh walks them unquoted; a word without "=" names itself (getargs).
std::vector<NamedVolume> volumes_named_by(const CmdlineWord& word, bool old_words);

/// rd.lvm=0 (no, off), or the mere presence of rd_NO_LVM: no LV is activated in the initramfs.
bool switches_lvm_off(const CmdlineWord& word, bool old_words);

enum class Existence { active, recorded, missing };

/// Whether the guest has the volume: active now, or at least recorded in LVM's metadata backup. A
/// volume group counts by any of its LVs (/dev/VG is there as soon as one is active). nullopt when
/// that is not known: without a listing of the devices as the booted guest has them.
std::optional<Existence> find_volume(const Result<Storage>& storage, const LvmFacts& lvm,
                                     const NamedVolume& volume);

}  // namespace preflight
