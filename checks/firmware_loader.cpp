// SPDX-License-Identifier: MIT
// Whether the firmware finds a boot loader on the new controller. A boot entry in NVRAM that was
// made by efibootmgr names the partition by GUID and survives (rhboot/efibootmgr src/efi.c), but
// bhyve keeps no NVRAM unless vm-bhyve's uefi_vars=yes says so: then only the removable path
// EFI/BOOT/BOOT<arch>.EFI is tried (UEFI specification, 3.5.1.1; rhboot/shim README.fallback).
#include "agent/check.h"

namespace preflight {

namespace {

std::vector<Finding> run_check(const Facts& facts) {
  const Firmware& firmware = facts.surroundings.firmware;
  Finding finding;
  finding.subject = firmware.esp;
  if (!firmware.uefi) {
    finding.status = Status::warn;
    finding.summary = firmware.esp_seen || facts.live
                          ? "This guest boots by BIOS or by a loader on the host. Whether that "
                            "loader finds an NVMe "
                            "disk cannot be seen from inside."
                          : "No EFI system partition is to be seen here: whether the firmware or "
                            "the host's loader "
                            "finds the boot loader on an NVMe disk cannot be told.";
    finding.remedy = Remedy{"", "make sure that the host's loader or BIOS can boot from NVMe", {}};
    return {finding};
  }
  if (!firmware.removable_loaders.empty()) {
    finding.subject = firmware.removable_loaders.front();
    finding.status = Status::pass;
    finding.summary = "The firmware finds a boot loader without any NVRAM entry.";
    return {finding};
  }
  finding.status = Status::warn;
  finding.summary =
      "There is no EFI/BOOT/BOOT*.EFI on the EFI system partition. A host that keeps no NVRAM "
      "(bhyve by "
      "default) then finds nothing to boot.";
  finding.evidence.push_back({firmware.esp, 0, "no EFI/BOOT/BOOT*.EFI", "EFI/BOOT/BOOTX64.EFI"});
  finding.remedy = Remedy{"", "reinstall the fallback loader", {"dnf", "reinstall", "shim-x64"}};
  return {finding};
}

}  // namespace

extern const Check firmware_loader_check{"firmware.loader", "the firmware finds a boot loader",
                                         run_check};

}  // namespace preflight
