// SPDX-License-Identifier: MIT
#include "agent/formats/kernel_header.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void kernel_header(std::string_view input) {
  const ReadAt read = [&](std::uint64_t offset, std::size_t length) -> Result<std::string> {
    return std::string(input.substr(std::min<std::uint64_t>(offset, input.size()), length));
  };
  const auto release = kernel_release(read);
  require(release.has_value(), "only the reader's errors are errors");
  if (!*release) return;
  require(!(*release)->empty() && (*release)->size() < 65, "a release has a release's length");
  require((*release)->find('/') == std::string::npos, "a release is no path");
}

}  // namespace preflight::fuzz
