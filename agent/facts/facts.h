// SPDX-License-Identifier: MIT
// All that is known about a guest, collected once. Each part is a value or the error that
// prevented it; checks read it and touch nothing.
#pragma once

#include <string>
#include <vector>

#include "agent/facts/boot.h"
#include "agent/facts/command_lines.h"
#include "agent/facts/dracut.h"
#include "agent/facts/finishing.h"
#include "agent/facts/lvm.h"
#include "agent/facts/modprobe.h"
#include "agent/facts/release.h"
#include "agent/facts/running.h"
#include "agent/facts/storage.h"
#include "agent/facts/surroundings.h"
#include "agent/facts/tables.h"
#include "agent/progress.h"

namespace preflight {

struct Facts {
  std::string root;  // as given with --root
  bool live = false;
  bool privileged = false;
  Result<Release> release = fail(ErrorKind::missing, "", "not collected");
  Result<std::string> machine_id = fail(ErrorKind::missing, "", "not collected");
  Result<std::vector<Kernel>> kernels = fail(ErrorKind::missing, "", "not collected");
  Result<BootMenu> boot = fail(ErrorKind::missing, "", "not collected");
  CommandLines command_lines;
  Images images;
  Result<DracutConfig> dracut = fail(ErrorKind::missing, "", "not collected");
  Image modprobe;  // the guest's modprobe.d, as an image would get it
  LvmFacts lvm;
  Result<Storage> storage = fail(ErrorKind::missing, "", "not collected");
  Result<DeviceTable> fstab = fail(ErrorKind::missing, "", "not collected");
  Result<DeviceTable> crypttab = fail(ErrorKind::missing, "", "not collected");
  Surroundings surroundings;
  Running running;      // with --verify and --finish alone
  Finishing finishing;  // the same
};

/// `progress` hears of the images, which take longest.
Facts collect_facts(const Guest& guest, const ProgressSink& progress = {});

}  // namespace preflight
