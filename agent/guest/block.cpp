// SPDX-License-Identifier: MIT
#include "agent/guest/block.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::uint64_t attribute_cap = 4096;  // sysfs: one page

/// An attribute without its newline; "" when there is none.
std::string attribute(const Root& host, const std::string& path) {
  const Result<std::string> text = host.read(path, attribute_cap);
  return text ? std::string(trim(*text)) : std::string();
}

template <class T>
T number(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  return done.ec == std::errc() && done.ptr == end ? value : T{};
}

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}
std::string last_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// lsblk's type of a device-mapper device: the uuid's prefix, "LVM-..." -> "lvm"; kpartx writes
/// "part1-mpath-...".
std::string dm_type(const std::string& uuid) {
  const std::size_t dash = uuid.find('-');
  if (dash == std::string::npos || dash == 0) return "dm";
  std::string prefix = uuid.substr(0, dash);
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return prefix.starts_with("part") ? "part" : prefix;
}

std::string device_type(const Root& host, const std::string& directory, const SysBlock& device) {
  if (!device.disk.empty()) return "part";
  if (device.name.starts_with("dm-")) return dm_type(device.dm_uuid);
  if (device.name.starts_with("loop")) return "loop";
  if (device.name.starts_with("sr")) return "rom";
  if (device.name.starts_with("md")) {
    const std::string level = attribute(host, directory + "/md/level");
    return level.empty() ? "md" : level;
  }
  return "disk";
}

/// lsblk's TRAN. A virtio-scsi disk (sdX) has none there either: its driver stays the same.
std::string transport_of(const SysBlock& device, const std::string& directory) {
  const std::string& disk = device.disk.empty() ? device.name : device.disk;
  if (disk.starts_with("nvme")) return "nvme";
  if (disk.starts_with("vd")) return "virtio";
  if (directory.find("/usb") != std::string::npos) return "usb";
  if (directory.find("/ata") != std::string::npos) return "sata";
  return {};
}

std::string serial_of(const Root& host, const std::string& directory) {
  const std::string own = attribute(host, directory + "/serial");
  return own.empty() ? attribute(host, directory + "/device/serial") : own;
}

std::optional<SysBlock> read_device(const Root& host, const std::string& name) {
  const Result<std::string> directory = host.resolve("/sys/class/block/" + name);
  if (!directory) return std::nullopt;
  SysBlock device;
  device.name = name;
  device.number = attribute(host, *directory + "/dev");
  device.sectors = number<std::uint64_t>(attribute(host, *directory + "/size"));
  const bool is_partition = host.exists(*directory + "/partition");
  const std::string whole = is_partition ? parent_of(*directory) : *directory;
  if (is_partition) device.disk = last_of(whole);
  if (const auto slaves = host.list(*directory + "/slaves")) device.slaves = *slaves;
  device.dm_name = attribute(host, *directory + "/dm/name");
  device.dm_uuid = attribute(host, *directory + "/dm/uuid");
  device.suspended = attribute(host, *directory + "/dm/suspended") == "1";
  device.sector_size = number<std::uint32_t>(attribute(host, whole + "/queue/logical_block_size"));
  if (!is_partition) device.serial = serial_of(host, whole);
  device.type = device_type(host, *directory, device);
  device.transport = is_partition ? std::string() : transport_of(device, *directory);
  return device;
}

using Probe = std::unique_ptr<blkid_struct_probe, decltype(&blkid_free_probe)>;

std::string value_of(const Probe& probe, const char* name) {
  const char* data = nullptr;
  std::size_t length = 0;
  if (blkid_probe_lookup_value(probe.get(), name, &data, &length) != 0 || !data) return {};
  // The length counts the terminating NUL.
  return std::string(data, length > 0 && data[length - 1] == '\0' ? length - 1 : length);
}

// blkid_do_safeprobe's answers. The macros BLKID_PROBE_* came with 2.39; EL 8 has 2.32.
constexpr int probe_found = 0;
constexpr int probe_nothing = 1;
constexpr int probe_ambivalent = -2;

}  // namespace

Result<std::vector<SysBlock>> list_block_devices(const Root& host) {
  const auto names = host.list("/sys/class/block");
  if (!names) return tl::unexpected(names.error());
  std::vector<SysBlock> devices;
  for (const std::string& name : *names) {
    if (name.starts_with("ram") || name.starts_with("fd")) continue;
    std::optional<SysBlock> device = read_device(host, name);
    if (device && device->sectors > 0) devices.push_back(std::move(*device));
  }
  return devices;
}

Result<Fd> open_block_device(const Root& host, const SysBlock& device) {
  std::string path = "/dev/" + device.name;
  std::replace(path.begin(), path.end(), '!', '/');
  if (device.suspended)
    return fail(ErrorKind::unsupported, path, "is suspended: reading it would block");
  const Result<Root::Place> place = host.place(path);
  if (!place) return tl::unexpected(place.error());
  const auto is_the_device = [&](const struct stat& status) {
    return S_ISBLK(status.st_mode) &&
           fmt::format("{}:{}", major(status.st_rdev), minor(status.st_rdev)) == device.number;
  };
  struct stat seen {};
  if (::fstatat(place->directory.get(), place->name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, path, "stat");
  // Looked at before it is opened: opening some devices does things (a tape rewinds).
  if (!is_the_device(seen))
    return fail(ErrorKind::wrong_type, path, "is not block device " + device.number);
  Fd fd(::openat(place->directory.get(), place->name.c_str(),
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path, "open");
  struct stat opened {};
  if (::fstat(fd.get(), &opened) != 0) return fail_errno(errno, path, "stat");
  if (!is_the_device(opened))
    return fail(ErrorKind::io, path, "was replaced while it was being opened");
  return fd;
}

Result<BlockContent> probe_content(int fd, const std::string& name) {
  const Probe probe(blkid_new_probe(), &blkid_free_probe);
  if (!probe || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0)
    return fail(ErrorKind::io, name, "libblkid can't read it");
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_DEFAULT);
  blkid_probe_enable_partitions(probe.get(), 1);
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_ENTRY_DETAILS);
  const int answer = blkid_do_safeprobe(probe.get());
  if (answer == probe_ambivalent)
    return fail(ErrorKind::unsupported, name, "has the signatures of more than one file system");
  if (answer != probe_found && answer != probe_nothing)
    return fail(ErrorKind::io, name, "libblkid can't read it");
  return BlockContent{value_of(probe, "TYPE"), value_of(probe, "UUID"), value_of(probe, "LABEL"),
                      value_of(probe, "PART_ENTRY_UUID"), value_of(probe, "PART_ENTRY_NAME")};
}

}  // namespace preflight
