// SPDX-License-Identifier: MIT
#include "agent/facts/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace preflight {

namespace {

// Each can become a finding, which takes a hundred times the memory of the line.
constexpr std::ptrdiff_t lines_cap = 2000;

Result<DeviceTable> collect(const Guest& guest, const char* path,
                            DeviceTable (*parse)(std::string, std::string)) {
  Result<std::string> text = guest.root.read(path);
  if (!text) return tl::unexpected(text.error());
  if (std::count(text->begin(), text->end(), '\n') > lines_cap)
    return fail(ErrorKind::too_large, path, fmt::format("has more than {} lines", lines_cap));
  return parse(path, std::move(*text));
}

}  // namespace

Result<DeviceTable> collect_fstab(const Guest& guest) {
  return collect(guest, "/etc/fstab", parse_fstab);
}

Result<DeviceTable> collect_crypttab(const Guest& guest) {
  return collect(guest, "/etc/crypttab", parse_crypttab);
}

}  // namespace preflight
