// SPDX-License-Identifier: MIT
#include "fixes/list.h"

#include <array>
#include <vector>

namespace preflight {

extern const Fix dracut_drop_in_fix;
extern const Fix dracut_drop_in_hostonly_fix;
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

std::span<const Fix> fixes_that_keep_hostonly() {
  static const auto fixes = [] {
    std::vector<Fix> list(all_fixes().begin(), all_fixes().end());
    for (Fix& fix : list)
      if (fix.id == dracut_drop_in_hostonly_fix.id) fix = dracut_drop_in_hostonly_fix;
    return list;
  }();
  return fixes;
}

}  // namespace preflight
