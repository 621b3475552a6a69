// SPDX-License-Identifier: MIT
#include "agent/facts/tables.h"

namespace preflight {

namespace {

Result<DeviceTable> collect(const Guest& guest, const char* path,
                            DeviceTable (*parse)(std::string, std::string)) {
  Result<std::string> text = guest.root.read(path);
  if (!text) return tl::unexpected(text.error());
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
