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

/// Schema "nvme-preflight/explain/1": "checks" is an array in boot order, of objects with the
/// strings check, meaning, why, verified, by_hand, fix (what --fix does, or null) and since. With
/// `check` only that one; nullopt when no check has that id.
std::optional<std::string> explain_json(const std::optional<std::string>& check);

}  // namespace preflight
