// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace preflight {

/// The text of --explain for one check; nullopt when no check has that id.
std::optional<std::string> explain(std::string_view check, int width);

/// One line per check, in boot order.
std::string explain_all();

}  // namespace preflight
