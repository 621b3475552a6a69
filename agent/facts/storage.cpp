// SPDX-License-Identifier: MIT
#include "agent/facts/storage.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace preflight {

namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string without(std::string_view text, char unwanted) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), unwanted), out.end());
  return out;
}

/// All that the given devices lie on, nearest first; they themselves only where they lie on one
/// another. Each device is visited once, so a listing with cycles ends too.
std::vector<std::size_t> all_below(const std::vector<BlockDevice>& devices,
                                   const std::vector<std::size_t>& start) {
  std::vector<bool> seen(devices.size(), false);
  std::vector<std::size_t> found;
  const auto visit_parents = [&](std::size_t device) {
    for (const std::size_t parent : devices[device].parents) {
      if (parent >= devices.size() || seen[parent]) continue;
      seen[parent] = true;
      found.push_back(parent);
    }
  };
  for (const std::size_t device : start)
    if (device < devices.size()) visit_parents(device);
  for (std::size_t next = 0; next < found.size(); ++next) visit_parents(found[next]);
  return found;
}

/// lvm2 puts origin and snapshots on a hidden "<origin>-real"; udev gives the snapshots' links a
/// lower priority (lvm2 udev/10-dm.rules DM_UDEV_LOW_PRIORITY_FLAG), so that the origin wins.
bool is_snapshot_of_another(const std::vector<BlockDevice>& devices, std::size_t device,
                            const std::vector<std::size_t>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](std::size_t other) {
    if (other == device || devices[other].dm_name.empty()) return false;
    const std::string real = devices[other].dm_name + "-real";
    const auto& parents = devices[device].parents;
    return std::any_of(parents.begin(), parents.end(),
                       [&](std::size_t parent) { return devices[parent].dm_name == real; });
  });
}

/// The candidates without the unwanted ones, unless that leaves none.
template <class Predicate>
std::vector<std::size_t> dropped(const std::vector<std::size_t>& candidates, Predicate unwanted) {
  std::vector<std::size_t> kept;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(kept),
               [&](std::size_t device) { return !unwanted(device); });
  return kept.empty() ? candidates : kept;
}

/// The candidates that no other candidate lies on.
std::vector<std::size_t> topmost(const std::vector<BlockDevice>& devices,
                                 const std::vector<std::size_t>& candidates) {
  std::vector<bool> covered(devices.size(), false);
  for (const std::size_t device : all_below(devices, candidates)) covered[device] = true;
  return dropped(candidates, [&](std::size_t device) { return covered[device]; });
}

/// Drops what is no rival of the others: what another candidate lies on, loop devices (which the
/// initramfs does not have) and snapshots of another candidate.
std::vector<std::size_t> rivals(const std::vector<BlockDevice>& devices,
                                std::vector<std::size_t> candidates) {
  if (candidates.size() < 2) return candidates;
  candidates = topmost(devices, candidates);
  candidates = dropped(candidates, [&](std::size_t d) { return devices[d].type == "loop"; });
  // The look for origins is quadratic: a hostile listing with thousands of clones goes without.
  constexpr std::size_t snapshot_cap = 64;
  if (candidates.size() > snapshot_cap) return candidates;
  return dropped(candidates, [&](std::size_t device) {
    return is_snapshot_of_another(devices, device, candidates);
  });
}

template <class Predicate>
std::vector<std::size_t> select(const std::vector<BlockDevice>& devices, Predicate predicate) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (predicate(devices[i])) found.push_back(i);
  return found;
}

/// A trailing "-partN" of a by-id name, taken off `name`; 0 when there is none.
int take_part(std::string_view& name) {
  const std::size_t at = name.rfind("-part");
  if (at == std::string_view::npos || !is_digits(name.substr(at + 5))) return 0;
  int part = 0;
  const std::string_view digits = name.substr(at + 5);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), part).ec != std::errc())
    return 0;
  name = name.substr(0, at);
  return part;
}

/// "vda3" of "vda", "nvme0n1p3" of "nvme0n1".
bool is_part_of(const BlockDevice& device, const BlockDevice& disk, int part) {
  const std::string infix =
      !disk.name.empty() && is_digits(disk.name.substr(disk.name.size() - 1)) ? "p" : "";
  return device.name == disk.name + infix + std::to_string(part);
}

/// udev's by-id names of virtio disks: "virtio-<serial>[-partN]" (systemd
/// 60-persistent-storage.rules). The kernel hands over at most 20 bytes of a serial.
std::vector<std::size_t> by_virtio_serial(const std::vector<BlockDevice>& devices,
                                          std::string_view name) {
  const int part = take_part(name);
  const auto disks = select(devices, [&](const BlockDevice& device) {
    return device.is_virtio() && !device.serial.empty() && device.serial == name &&
           device.type != "part";
  });
  if (part == 0) return disks;
  return select(devices, [&](const BlockDevice& device) {
    return std::any_of(disks.begin(), disks.end(),
                       [&](std::size_t disk) { return is_part_of(device, devices[disk], part); });
  });
}

/// /dev/disk/by-id names that lead to the same device whatever the controller is.
std::vector<std::size_t> by_id(const std::vector<BlockDevice>& devices, std::string_view name) {
  const auto after = [&](std::string_view prefix) -> std::optional<std::string_view> {
    return name.starts_with(prefix) ? std::optional(name.substr(prefix.size())) : std::nullopt;
  };
  if (const auto dm_name = after("dm-name-"))
    return select(devices, [&](const BlockDevice& d) { return d.dm_name == *dm_name; });
  if (const auto dm_uuid = after("dm-uuid-"))
    return select(
        devices, [&](const BlockDevice& d) { return !d.dm_uuid.empty() && d.dm_uuid == *dm_uuid; });
  if (const auto pv_uuid = after("lvm-pv-uuid-"))
    return select(devices, [&](const BlockDevice& d) {
      return d.fstype == "LVM2_member" && without(d.uuid, '-') == without(*pv_uuid, '-');
    });
  if (const auto serial = after("virtio-")) return by_virtio_serial(devices, *serial);
  return {};
}

std::vector<std::size_t> by_volume(const std::vector<BlockDevice>& devices,
                                   std::string_view volume) {
  const std::size_t slash = volume.find('/');
  const std::string dm_name = dm_name_of(volume.substr(0, slash), volume.substr(slash + 1));
  const auto found = select(devices, [&](const BlockDevice& d) { return d.dm_name == dm_name; });
  if (!found.empty()) return found;
  // A controller's own directory: /dev/cciss/c0d0p1.
  const std::string path = "/dev/" + std::string(volume);
  return select(devices, [&](const BlockDevice& d) { return d.path == path; });
}

std::size_t single_dash(std::string_view name, std::size_t from) {
  for (std::size_t i = from; i < name.size(); ++i) {
    if (name[i] != '-') continue;
    if (i + 1 < name.size() && name[i + 1] == '-') {
      ++i;
      continue;
    }
    return i;
  }
  return std::string_view::npos;
}

std::string dashes_halved(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '-') ++i;
  }
  return out;
}

/// Sub-LVs that lvm2 reserves (lvm2 lib/misc/lvm-string.c, _lvname_has_reserved_string).
bool is_reserved_lv(std::string_view lv) {
  for (const std::string_view part :
       {"_cdata", "_cmeta", "_corig", "_cpool", "_cvol", "_iorig", "_mimage", "_mlog", "_pmspare",
        "_rimage", "_rmeta", "_tdata", "_tmeta", "_vdata", "_vorigin", "_wcorig"}) {
    if (lv.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string BlockDevice::pvid() const {
  std::string id = uuid;
  id.erase(std::remove(id.begin(), id.end(), '-'), id.end());
  return id;
}

bool BlockDevice::is_virtio() const {
  if (transport == "virtio") return true;
  if (!name.starts_with("vd")) return false;
  const std::size_t letters = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  return name.size() > 2 && (letters == std::string::npos || is_digits(name.substr(letters)));
}

bool BlockDevice::is_nvme() const {
  return transport == "nvme" || name.starts_with("nvme");
}

bool BlockDevice::is_logical_volume() const {
  if (type != "lvm" && !dm_uuid.starts_with("LVM-")) return false;
  // "LVM-", 32 characters each for VG and LV; a layer's uuid goes on with "-<layer>".
  if (dm_uuid.size() > 68) return false;
  const auto volume = split_dm_name(dm_name);
  return volume && !is_reserved_lv(volume->lv);
}

bool BlockDevice::is_member() const {
  // ZFS is a file system to libblkid, in spite of its name.
  return fstype.ends_with("_member") && fstype != "zfs_member";
}

std::optional<std::size_t> Storage::mounted_at(std::string_view mount_point) const {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& mounts = devices[i].mounts;
    if (std::find(mounts.begin(), mounts.end(), mount_point) != mounts.end()) return i;
  }
  return std::nullopt;
}

std::vector<std::size_t> Storage::below(std::size_t device) const {
  return all_below(devices, {device});
}

std::vector<std::size_t> Storage::disks_under(std::size_t device) const {
  if (device >= devices.size()) return {};
  if (devices[device].parents.empty()) return {device};
  std::vector<std::size_t> disks;
  for (const std::size_t i : below(device))
    if (devices[i].parents.empty()) disks.push_back(i);
  return disks;
}

std::vector<std::size_t> Storage::pvs_under(std::size_t device) const {
  std::vector<std::size_t> pvs;
  for (const std::size_t i : below(device))
    if (devices[i].fstype == "LVM2_member") pvs.push_back(i);
  return topmost(devices, pvs);
}

std::optional<std::size_t> Storage::logical_volume(std::string_view vg, std::string_view lv) const {
  const std::string dm_name = dm_name_of(vg, lv);
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].dm_name == dm_name && devices[i].is_logical_volume()) return i;
  return std::nullopt;
}

std::optional<std::size_t> Storage::volume_under(std::size_t device) const {
  if (device >= devices.size()) return std::nullopt;
  if (devices[device].is_logical_volume()) return device;
  for (const std::size_t i : below(device))
    if (devices[i].is_logical_volume()) return i;
  return std::nullopt;
}

std::vector<std::size_t> Storage::with_uuid(std::string_view uuid) const {
  if (uuid.empty()) return {};
  return rivals(devices, select(devices, [&](const BlockDevice& d) {
                  return equal_ignoring_case(d.uuid, uuid);
                }));
}

bool Storage::are_one_btrfs(const std::vector<std::size_t>& found) const {
  return !found.empty() && std::all_of(found.begin(), found.end(), [&](std::size_t i) {
    return devices[i].fstype == "btrfs" && devices[i].uuid == devices[found.front()].uuid;
  });
}

const Error* Storage::first_probe_error() const {
  for (const BlockDevice& device : devices)
    if (device.probe_error) return &*device.probe_error;
  return nullptr;
}

std::vector<std::size_t> Storage::resolve(std::string_view spec) const {
  const DeviceSpec parsed = parse_device_spec(spec);
  const std::string& value = parsed.value;
  if (value.empty()) return {};
  const auto where = [&](auto predicate) { return rivals(devices, select(devices, predicate)); };
  switch (parsed.kind) {
    case SpecKind::uuid:
      return where([&](const BlockDevice& d) {
        return !d.is_member() && equal_ignoring_case(d.uuid, value);
      });
    case SpecKind::label:
      return where([&](const BlockDevice& d) { return !d.is_member() && d.label == value; });
    case SpecKind::partuuid:
      return where([&](const BlockDevice& d) { return equal_ignoring_case(d.partuuid, value); });
    case SpecKind::partlabel:
      return where([&](const BlockDevice& d) { return d.partlabel == value; });
    case SpecKind::id:
      return by_id(devices, value);
    case SpecKind::mapper:
      return where([&](const BlockDevice& d) { return d.dm_name == value; });
    case SpecKind::volume:
      return by_volume(devices, value);
    case SpecKind::kernel:
      return where(
          [&](const BlockDevice& d) { return d.name == value || d.path == "/dev/" + value; });
    case SpecKind::number:
      return where([&](const BlockDevice& d) { return d.number == value; });
    case SpecKind::by_path:
    case SpecKind::other:
      return {};
  }
  return {};
}

std::string dm_name_of(std::string_view vg, std::string_view lv) {
  std::string out;
  const auto append = [&](std::string_view part) {
    for (const char c : part) {
      out += c;
      if (c == '-') out += '-';
    }
  };
  append(vg);
  out += '-';
  append(lv);
  return out;
}

std::optional<VolumeName> split_dm_name(std::string_view dm_name) {
  const std::size_t dash = single_dash(dm_name, 0);
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == dm_name.size())
    return std::nullopt;
  const std::string_view lv = dm_name.substr(dash + 1);
  if (single_dash(lv, 0) != std::string_view::npos) return std::nullopt;
  return VolumeName{dashes_halved(dm_name.substr(0, dash)), dashes_halved(lv)};
}

}  // namespace preflight
