// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace preflight {

/// What `diff -U CONTEXT` says about two texts: hunks, and the remark "\ No newline at end of file"
/// where it belongs; patch(1) turns `before` into `after` with it. Names
/// come after "--- " and "+++ ". Equal texts give "". The bytes are raw: escape them before a
/// terminal sees them. Texts that differ in more than a few thousand lines get a correct diff, not
/// the shortest one; no line that both have at the same place is in it all the same.
std::string unified_diff(std::string_view before_name, std::string_view before,
                         std::string_view after_name, std::string_view after,
                         std::size_t context = 3);

}  // namespace preflight
