// SPDX-License-Identifier: MIT
// How GRUB's blscfg orders menu entries (vercmp(), split_package_string() and split_cmp() of
// grub-core/commands/blscfg.c in the rhel-8-main, rhel-9-main and rhel-10-main branches).
#pragma once

#include <string_view>

namespace preflight {

/// What "+" means in a version: EL 8 skips it like any other separator; from EL 9 on it is what "^"
/// is for rpm (later than the bare version, earlier than anything else that follows).
enum class PlusRule { separates, orders };

/// Negative, 0 or positive as `a` is older than, the same as, or newer than `b`. rpm's rpmvercmp
/// as it was before "^", but for the "+" above.
int compare_versions(std::string_view a, std::string_view b, PlusRule rule);

/// Compares "name-version-release" (the last two dashes divide) by name, version, release. A
/// missing part is empty; a string with one dash has name and version.
int compare_name_version_release(std::string_view a, std::string_view b, PlusRule rule);

/// The same for "version-release".
int compare_version_release(std::string_view a, std::string_view b, PlusRule rule);

}  // namespace preflight
