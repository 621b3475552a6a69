// SPDX-License-Identifier: MIT
#include "agent/facts/nvme_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/formats/text.h"

namespace preflight {

namespace {

/// udev 60-persistent-storage.rules for an NVMe namespace: by-id from model and serial, and from
/// the wwid (bhyve's EUI-64 begins with 58-9c-fc); by-path from the PCI slot and the namespace.
std::vector<std::string> disk_names(std::size_t disk, int partition) {
  const std::string part = partition > 0 ? fmt::format("-part{}", partition) : "";
  return {fmt::format("/dev/nvme{}n1{}", disk, partition > 0 ? fmt::format("p{}", partition) : ""),
          fmt::format("/dev/disk/by-id/nvme-bhyve-NVMe_NVME-{}-0{}", disk + 4, part),
          fmt::format("/dev/disk/by-id/nvme-eui.589cfc00000000{:02x}{}", disk + 4, part),
          fmt::format("/dev/disk/by-path/pci-0000:00:{:02x}.0-nvme-1{}", disk + 4, part)};
}

/// "vda3", "nvme0n1p3" -> 3; nullopt when the name does not end in a number.
std::optional<int> partition_number(std::string_view name) {
  const std::size_t start = name.find_last_not_of("0123456789") + 1;
  int number = 0;
  const std::string_view digits = name.substr(start);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || number <= 0) return std::nullopt;
  return number;
}

bool is_disk(const BlockDevice& device) {
  return device.type == "disk";
}

/// Which of the disks it is, counted without floppies, memory and the like.
std::size_t disk_index(const Storage& storage, std::size_t disk) {
  const auto counts = [](const BlockDevice& device) {
    return is_disk(device) && !device.name.starts_with("zram") && !device.name.starts_with("ram") &&
           !device.name.starts_with("fd");
  };
  return static_cast<std::size_t>(
      std::count_if(storage.devices.begin(),
                    storage.devices.begin() + static_cast<std::ptrdiff_t>(disk), counts));
}

/// udev's string escaping for by-partlabel (systemd src/shared/device-nodes.c,
/// encode_devnode_name()), near enough for a filter: bytes beyond [A-Za-z0-9#+-.:=@_] become \xNN.
std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("#+-.:=@_").find(c) != std::string_view::npos ||
                       static_cast<unsigned char>(c) >= 0x80;
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

/// Links from what is written on the disk itself: they stay.
void add_lasting_links(const BlockDevice& device, NamesSeenBy seen_by,
                       std::vector<std::string>& names) {
  if (!device.partuuid.empty()) names.push_back("/dev/disk/by-partuuid/" + device.partuuid);
  if (!device.partlabel.empty())
    names.push_back("/dev/disk/by-partlabel/" + encoded(device.partlabel));
  if (seen_by == NamesSeenBy::root && !device.uuid.empty())
    names.push_back("/dev/disk/by-id/lvm-pv-uuid-" + device.uuid);
}

/// Device-mapper and md names that do not depend on the disk below.
std::vector<std::string> layer_names(const BlockDevice& device) {
  std::vector<std::string> names;
  if (!device.path.empty()) names.push_back(device.path);
  if (!device.name.empty() && device.path != "/dev/" + device.name)
    names.push_back("/dev/" + device.name);
  if (!device.dm_name.empty()) names.push_back("/dev/disk/by-id/dm-name-" + device.dm_name);
  if (!device.dm_uuid.empty()) names.push_back("/dev/disk/by-id/dm-uuid-" + device.dm_uuid);
  return names;
}

}  // namespace

std::vector<std::string> nvme_names_of_partition(int number) {
  return disk_names(0, number);
}

Result<std::vector<std::string>> nvme_names(const Storage& storage, std::size_t pv,
                                            NamesSeenBy seen_by) {
  if (pv >= storage.devices.size())
    return fail(ErrorKind::missing, storage.source, "no such device");
  const BlockDevice& device = storage.devices[pv];
  std::vector<std::string> names;
  if (is_disk(device)) {
    names = disk_names(disk_index(storage, pv), 0);
  } else if (device.type == "part") {
    const auto number = partition_number(device.name);
    if (!number)
      return fail(ErrorKind::unsupported, storage.source,
                  fmt::format("the name {} does not tell the number of its partition",
                              printable(device.name)));
    const std::vector<std::size_t> disks = storage.disks_under(pv);
    names = disk_names(disks.empty() ? 0 : disk_index(storage, disks.front()), *number);
  } else {
    names = layer_names(device);
  }
  add_lasting_links(device, seen_by, names);
  return names;
}

}  // namespace preflight
