// SPDX-License-Identifier: MIT
// What can be put back once the guest runs from NVMe: LVM's devices file, which --fix had to switch
// off because it knew the old controller's disk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/facts/lvm.h"
#include "agent/facts/running.h"
#include "agent/facts/storage.h"
#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

struct Finishing {
  /// LVM's files as they were before --fix changed them, by path; empty when it changed none.
  std::map<std::string, std::string> lvm_files_before;

  /// The devices file that this LVM would write for root's VG. Asked for only where there is
  /// something to put back.
  Result<std::string> devices_file = fail(ErrorKind::missing, "", "not collected");
};

/// Asks LVM for the devices file of root's VG (agent/guest/lvm.h) where `lvm_files_before` says
/// that --fix switched the devices file off. Live only.
Finishing collect_finishing(const Guest& guest, const LvmFacts& lvm, const Result<Storage>& storage,
                            const Running& running,
                            std::map<std::string, std::string> lvm_files_before);

/// The devices of a VG's PVs, as LVM names them.
std::vector<std::string> devices_of(const std::string& vg, const std::vector<VisiblePv>& pvs);

/// Whether LVM used its devices file before --fix changed its configuration, and does not now.
bool was_switched_off(const LvmFacts& lvm, const Finishing& finishing);

/// The VG that the root file system lies on.
std::optional<std::string> volume_group_of_root(const Result<Storage>& storage);

/// Why the devices file that LVM would write is not to be taken: "" when it lists every PV of the
/// VG and no other.
std::string fault_of_devices_file(const std::string& text, const std::string& vg,
                                  const std::vector<VisiblePv>& pvs, const Storage& storage);

}  // namespace preflight
