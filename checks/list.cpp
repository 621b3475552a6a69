// SPDX-License-Identifier: MIT
#include "checks/list.h"

#include <array>

namespace preflight {

extern const Check guest_supported_check;
extern const Check firmware_loader_check;
extern const Check disk_sector_size_check;
extern const Check boot_default_entry_check;
extern const Check initramfs_readable_check;
extern const Check initramfs_driver_check;

extern const Check initramfs_blocked_check;
extern const Check initramfs_device_names_check;
extern const Check initramfs_lvm_config_check;
extern const Check initramfs_way_back_check;
extern const Check dracut_hostonly_check;
extern const Check dracut_next_kernel_check;
extern const Check lvm_config_check;
extern const Check lvm_devicesfile_check;

extern const Check lvm_filter_check;
extern const Check lvm_activation_check;
extern const Check root_resolves_check;
extern const Check boot_device_names_check;
extern const Check fstab_device_names_check;
extern const Check crypttab_device_names_check;
extern const Check multipath_claims_check;
extern const Check kdump_image_check;
extern const Check names_elsewhere_check;
extern const Check after_root_disk_check;
extern const Check after_mounts_check;
extern const Check after_volume_group_check;
extern const Check after_failed_units_check;
extern const Check after_devices_file_check;

std::span<const Check> all_checks() {
  static const std::array checks{
      guest_supported_check,    firmware_loader_check,        disk_sector_size_check,
      boot_default_entry_check, initramfs_readable_check,     initramfs_driver_check,
      initramfs_blocked_check,  initramfs_device_names_check, initramfs_lvm_config_check,
      initramfs_way_back_check, dracut_hostonly_check,        dracut_next_kernel_check,
      lvm_config_check,         lvm_devicesfile_check,        lvm_filter_check,
      lvm_activation_check,     root_resolves_check,          boot_device_names_check,
      fstab_device_names_check, crypttab_device_names_check,  multipath_claims_check,
      kdump_image_check,        names_elsewhere_check,
  };
  return checks;
}

std::span<const Check> after_switch_checks() {
  static const std::array checks{
      after_root_disk_check,    after_mounts_check,       after_volume_group_check,
      after_failed_units_check, boot_default_entry_check, initramfs_readable_check,
      initramfs_driver_check,   initramfs_blocked_check,  lvm_devicesfile_check,
      root_resolves_check,      after_devices_file_check,
  };
  return checks;
}

}  // namespace preflight
