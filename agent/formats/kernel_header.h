// SPDX-License-Identifier: MIT
// The release a kernel image says it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/result.h"

namespace preflight {

/// Up to `length` bytes at `offset` of the image; fewer at its end.
using ReadAt = std::function<Result<std::string>(std::uint64_t offset, std::size_t length)>;

/// The release in an x86 bzImage's setup header ("5.14.0-503.el9.x86_64"): the word at the offset
/// that kernel_version (0x20e) gives, plus 0x200 (Documentation/arch/x86/boot.rst). nullopt for an
/// image without that header (aarch64) or without a sensible word there. Errors are the reader's.
Result<std::optional<std::string>> kernel_release(const ReadAt& read);

}  // namespace preflight
