// SPDX-License-Identifier: MIT
#include "agent/facts/stable_name.h"

#include <fmt/format.h>

namespace preflight {

namespace {

/// "vda", "vdb3", "vdaa1": virtblk_name_format() in drivers/block/virtio_blk.c.
bool is_virtio_disk_name(std::string_view name) {
  if (!name.starts_with("vd")) return false;
  name.remove_prefix(2);
  const std::size_t letters = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  if (letters == 0 || name.empty()) return false;
  return letters == std::string_view::npos ||
         name.find_first_not_of("0123456789", letters) == std::string_view::npos;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// systemd.unit(5): "-" stands for "/", "\xNN" for a byte.
std::string unescape_unit(std::string_view name) {
  std::string out = "/";
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 2) == "\\x" && i + 3 < name.size() && hex_value(name[i + 2]) >= 0 &&
        hex_value(name[i + 3]) >= 0) {
      out += static_cast<char>(hex_value(name[i + 2]) * 16 + hex_value(name[i + 3]));
      i += 3;
    } else {
      out += name[i] == '-' ? '/' : name[i];
    }
  }
  return out;
}

/// What libblkid makes of UUIDs of any file system. A listing made elsewhere can hold anything, and
/// the name is written where blanks, quotes and '$' have a meaning.
bool is_plain(std::string_view uuid) {
  return uuid.find_first_not_of(
             "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "-:._") == std::string_view::npos;
}

}  // namespace

std::optional<std::string> why_it_changes(std::string_view spec) {
  const DeviceSpec device = parse_device_spec(spec);
  switch (device.kind) {
    case SpecKind::kernel:
      if (is_virtio_disk_name(device.value)) return "the kernel's name of a virtio-blk disk";
      return std::nullopt;
    case SpecKind::by_path:
      return "a path through the old controller";
    case SpecKind::id:
      if (device.value.starts_with("virtio-"))
        return "udev's name of a virtio-blk disk, made from its serial";
      return std::nullopt;
    case SpecKind::number:
      return "a device number, and NVMe disks have other numbers";
    default:
      return std::nullopt;
  }
}

std::string device_of_unit(std::string_view unit) {
  if (!unit.starts_with("dev-")) return {};
  for (const std::string_view suffix : {".device", ".swap", ".mount"}) {
    if (unit.ends_with(suffix)) return unescape_unit(unit.substr(0, unit.size() - suffix.size()));
  }
  return {};
}

std::vector<std::string> device_paths_in(std::string_view value) {
  std::vector<std::string> paths;
  while (true) {
    const std::size_t start = value.find("/dev/");
    if (start == std::string_view::npos) return paths;
    value.remove_prefix(start);
    const std::size_t end =
        value.starts_with("/dev/disk/by-path/") ? value.find(',') : value.find_first_of(",:");
    paths.emplace_back(value.substr(0, end));
    if (end == std::string_view::npos) return paths;
    value.remove_prefix(end + 1);
  }
}

Result<std::string> stable_name(const Result<Storage>& storage, const DeviceLine& line) {
  if (!line.made_anew) return stable_name(storage, line.device);
  if (!storage) return tl::unexpected(storage.error());
  const std::vector<std::size_t> devices = storage->resolve(line.device);
  if (devices.size() != 1)
    return fail(ErrorKind::missing, line.device, "leads to no single device of this guest today");
  const BlockDevice& device = storage->devices[devices.front()];
  if (device.partuuid.empty())
    return fail(ErrorKind::missing, line.device,
                "what is on it is made anew at every boot, and it is no partition with a PARTUUID");
  return "PARTUUID=" + device.partuuid;
}

Result<std::string> stable_name(const Result<Storage>& storage, std::string_view spec) {
  if (!storage) return tl::unexpected(storage.error());
  const std::vector<std::size_t> devices = storage->resolve(spec);
  const std::string name(spec);
  if (devices.empty())
    return fail(ErrorKind::missing, name, "leads to no device of this guest today");
  if (devices.size() > 1) return fail(ErrorKind::unsupported, name, "leads to several devices");
  const BlockDevice& device = storage->devices[devices.front()];
  if (device.probe_error) return tl::unexpected(*device.probe_error);
  if (device.uuid.empty()) return fail(ErrorKind::missing, name, "carries no UUID");
  if (!is_plain(device.uuid))
    return fail(ErrorKind::unsupported, name, "carries a UUID that is no word for fstab or GRUB");
  if (const auto twins = storage->with_uuid(device.uuid); twins.size() > 1)
    return fail(
        ErrorKind::unsupported, name,
        fmt::format("its UUID {} is on {} as well", device.uuid,
                    storage->devices[twins[0] == devices.front() ? twins[1] : twins[0]].path));
  return "UUID=" + device.uuid;
}

}  // namespace preflight
