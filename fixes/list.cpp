// SPDX-License-Identifier: MIT
#include "fixes/list.h"

#include <array>

namespace preflight {

extern const Fix dracut_drop_in_fix;
extern const Fix lvm_devicesfile_fix;
extern const Fix lvm_filter_fix;
extern const Fix fstab_uuid_fix;
extern const Fix crypttab_uuid_fix;
extern const Fix cmdline_fix;
extern const Fix rebuild_initramfs_fix;
extern const Fix lvm_devices_again_fix;

std::span<const Fix> all_fixes() {
  static const std::array fixes{dracut_drop_in_fix,    lvm_devicesfile_fix,  lvm_filter_fix,
                                fstab_uuid_fix,        crypttab_uuid_fix,    cmdline_fix,
                                rebuild_initramfs_fix, lvm_devices_again_fix};
  return fixes;
}

}  // namespace preflight
