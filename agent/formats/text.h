// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace preflight {

/// A guest's bytes made safe to show: control characters, DEL, C1 controls, bidirectional overrides
/// and bytes that are not UTF-8 become \xNN. Printable UTF-8 passes. '\n' and '\t' are escaped too.
std::string printable(std::string_view bytes);

/// Lines without their '\n'. A last line without newline counts; an empty text has none.
std::vector<std::string_view> split_lines(std::string_view text);

/// Words between runs of blanks (space, tab, newline).
std::vector<std::string_view> split_words(std::string_view text);

/// The pieces between separators; an empty text has none.
std::vector<std::string_view> split_at(std::string_view text, char separator);

std::string_view trim(std::string_view text);

/// "30.1 MB", of 10^6 bytes each.
std::string megabytes(std::uint64_t bytes);

}  // namespace preflight
