// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// os-release(5). `major` and `minor` come from VERSION_ID ("9.5" -> 9, 5); minor is -1 when the
/// VERSION_ID has none, major is -1 when there is no number.
struct Release {
  std::string path;  // /etc/os-release or /usr/lib/os-release
  std::string id;
  std::vector<std::string> id_like;
  std::string version_id;
  std::string pretty_name;
  int major = -1;
  int minor = -1;

  /// An EL-family guest: ID or ID_LIKE names rhel or centos, or ID is one of its rebuilds.
  bool is_el() const;
};

/// Pure reader; `path` names the source of errors. ID is "linux" when it is not set
/// (os-release(5)).
Result<Release> parse_os_release(const std::string& path, std::string_view text);

/// A kernel with a directory in /lib/modules.
struct Kernel {
  std::string version;            // "5.14.0-503.el9.x86_64"
  std::string directory;          // "/lib/modules/5.14.0-503.el9.x86_64"
  std::set<std::string> builtin;  // canonical names from modules.builtin; empty when there is none
  std::set<std::string> modular;  // canonical names from modules.dep; empty when there is none
  std::map<std::string, std::set<std::string>> needs;  // of each of these, by the same file
  bool premade_initrd = false;  // <directory>/initrd exists: kernel-install copies it
};

/// /etc/os-release, else /usr/lib/os-release. Errors: missing, malformed, ...
Result<Release> collect_release(const Guest& guest);

/// The 32 hex digits of /etc/machine-id. Errors: missing; malformed (empty or "uninitialized" until
/// the first boot gives the guest an id, machine-id(5)).
Result<std::string> collect_machine_id(const Guest& guest);

/// The kernels with a directory in /lib/modules, by name. A module index that is not there leaves
/// its set empty; one that cannot be read is an error of the whole, for a built-in driver must not
/// be taken for a missing one. Errors: missing, denied, too_large (more than 64 kernels), ...
Result<std::vector<Kernel>> collect_kernels(const Guest& guest);

/// The kernel of that version; nullptr when it has no module directory.
const Kernel* find_kernel(const Result<std::vector<Kernel>>& kernels, std::string_view version);

}  // namespace preflight
