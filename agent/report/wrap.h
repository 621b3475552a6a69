// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace preflight {

/// The text's words in lines of at most `width` columns, each behind `indent` blanks, with a final
/// newline. Width is counted in code points: guest names are nearly always ASCII.
std::string wrap(std::string_view text, int indent, int width);

/// Columns that a printable text takes: one for each character.
int columns_of(std::string_view text);

/// The text, or its beginning and "..." where it takes more than `width` (at least 3) columns.
std::string cut(std::string text, int width);

}  // namespace preflight
