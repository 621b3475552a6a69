// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace preflight {

/// The text's words in lines of at most `width` columns, each behind `indent` blanks, with a final
/// newline. Width is counted in code points: guest names are nearly always ASCII.
std::string wrap(std::string_view text, int indent, int width);

}  // namespace preflight
