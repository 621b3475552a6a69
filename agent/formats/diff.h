// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace preflight {

/// What `diff -u` says about two texts: hunks with three lines of context, and the remark "\ No
/// newline at end of file" where it belongs; patch(1) turns `before` into `after` with it. Names
/// come after "--- " and "+++ ". Equal texts give "". The bytes are raw: escape them before a
/// terminal sees them. Texts that differ in more than a few thousand lines get a correct diff, not
/// the shortest one.
std::string unified_diff(std::string_view before_name, std::string_view before,
                         std::string_view after_name, std::string_view after);

}  // namespace preflight
