// SPDX-License-Identifier: MIT
// GRUB's environment block.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/result.h"

namespace preflight {

/// The variables of a grubenv file.
struct GrubEnvironment {
  struct Variable {
    std::string value;       // escapes removed
    int line = 0;            // 1-based
    std::size_t offset = 0;  // byte span of the value as it is written
    std::size_t length = 0;
  };
  std::string path;
  std::map<std::string, Variable, std::less<>> variables;

  /// The value; "" when it is not set, which GRUB's scripts do not tell apart.
  std::string_view value(std::string_view name) const;
  const Variable* find(std::string_view name) const;
};

/// Reads as grub_envblk_open() and grub_envblk_iterate() of grub-core/lib/envblk.c: the signature
/// line, then name=value lines where a backslash protects the next byte (a newline too), lines that
/// begin with "#" are padding, the last of equal names wins, and a line without "=" or without an
/// end stops the reading. The size is not looked at beyond holding more than the signature: GRUB
/// reads a block of any size, only writing needs 1024 bytes. Errors: malformed (no signature), for
/// which GRUB loads nothing at all.
Result<GrubEnvironment> parse_grubenv(const std::string& path, std::string_view text);

/// `now` with every variable that `placed` has otherwise than `original` as `original` has it
/// (which may be: not at all). All other variables stay as `now` has them, byte for byte and in
/// their order, and so does the block's size, by giving or taking padding. nullopt: one of the
/// three is no environment block, one of those variables is in `now` as neither of the two has it,
/// or there is no room.
std::optional<std::string> put_variables_back(std::string_view original, std::string_view placed,
                                              std::string_view now);

}  // namespace preflight
