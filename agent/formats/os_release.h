// SPDX-License-Identifier: MIT
// os-release(5): a list of shell-compatible assignments.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/result.h"

namespace preflight {

using OsReleaseFields = std::map<std::string, std::string, std::less<>>;

/// The assignments of an os-release file, quotes and escapes removed as os-release(5) asks for: the
/// last of equal names wins, "#" lines and lines that are no assignment set nothing. Errors:
/// malformed (a quote that is not closed, or not one assignment in the file).
Result<OsReleaseFields> parse_os_release_fields(const std::string& path, std::string_view text);

}  // namespace preflight
