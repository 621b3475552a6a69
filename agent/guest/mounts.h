// SPDX-License-Identifier: MIT
// What is mounted and swapped on, as the kernel tells it in /proc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/root.h"
#include "agent/result.h"

namespace preflight {

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)), octal escapes undone.
struct Mount {
  std::string number;       // "254:3", the st_dev; anonymous ("0:45") for btrfs, overlay, tmpfs
  std::string root;         // the directory of the file system that is mounted here
  std::string mount_point;  // as this process sees it
  std::string fstype;
  std::string source;  // "/dev/vda3", "overlay", ...

  /// Whether the file system's own root is mounted here. btrfs mounts subvolumes by their path
  /// inside the file system, everything else with another root is a bind mount.
  bool is_whole() const { return root == "/" || fstype == "btrfs"; }
};

/// Undoes the \ooo escapes of /proc (and of fstab): "\040" is a blank.
std::string unescape_octal(std::string_view text);

/// The mounts that can be seen: of several on one mount point, the last. Malformed lines are left
/// out.
std::vector<Mount> parse_mountinfo(std::string_view text);

/// The active swaps' files and devices, from /proc/swaps.
std::vector<std::string> parse_swaps(std::string_view text);

/// The mounts at `prefix` and below it, with their mount points seen from there:
/// "/mnt/sysroot/boot" under "/mnt/sysroot" is "/boot". Empty when nothing is mounted at `prefix`
/// itself.
std::vector<Mount> mounts_under(const std::vector<Mount>& mounts, std::string_view prefix);

/// This process's own mounts, read through `host`, a Root of "/". Errors: missing (no /proc), ...
Result<std::vector<Mount>> read_mounts(const Root& host);

/// Errors: missing (a kernel without swap, no /proc), ...
Result<std::vector<std::string>> read_swaps(const Root& host);

}  // namespace preflight
