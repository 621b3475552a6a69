// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "agent/facts/storage.h"
#include "agent/guest/block.h"
#include "agent/guest/dm.h"
#include "agent/guest/mounts.h"

namespace preflight {

namespace {

// lsblk --output-all writes some 2000 bytes for a device. As objects it takes fifteen times as
// much.
constexpr std::uint64_t lsblk_cap = 4u << 20;

/// --lsblk names a file of the host, not of the guest.
Result<Storage> from_listing(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().string() : ".";
  const Result<Root> place = Root::open(directory);
  if (!place) return tl::unexpected(place.error());
  Result<std::string> text = place->read("/" + file.filename().string(), lsblk_cap);
  if (!text) {
    Error error = text.error();
    error.path = path;
    return tl::unexpected(std::move(error));
  }
  return parse_lsblk(path, *text);
}

/// LVM's layers ("-real", "-cow", "-tpool", ...) hold what their LV holds, or parts of it; udev
/// does not look into them either (lvm2 udev/11-dm-lvm.rules).
bool is_private_layer(const std::string& dm_uuid) {
  return (dm_uuid.starts_with("LVM-") && dm_uuid.size() > 68) || dm_uuid.starts_with("CRYPT-TEMP-");
}

/// ZRAM is the guest's memory and holds no file system worth a question.
bool has_content(const SysBlock& device) {
  return !is_private_layer(device.dm_uuid) && !device.name.starts_with("zram");
}

void add_content(const Root& host, const SysBlock& from, BlockDevice& device) {
  const Result<Fd> fd = open_block_device(host, from);
  const Result<BlockContent> content =
      fd ? probe_content(fd->get(), device.path) : tl::unexpected(fd.error());
  if (!content) {
    device.probe_error = content.error();
    return;
  }
  device.fstype = content->fstype;
  device.uuid = content->uuid;
  device.label = content->label;
  device.partuuid = content->partuuid;
  device.partlabel = content->partlabel;
}

BlockDevice device_of(const Root& host, const SysBlock& from) {
  BlockDevice device;
  device.name = from.name;
  device.number = from.number;
  device.type = from.type;
  device.dm_name = from.dm_name;
  device.dm_uuid = from.dm_uuid;
  device.serial = from.serial;
  device.transport = from.transport;
  device.sector_size = from.sector_size;
  if (device.dm_name.empty()) {
    device.path = "/dev/" + from.name;
    std::replace(device.path.begin(), device.path.end(), '!', '/');
  } else {
    device.path = "/dev/mapper/" + device.dm_name;
  }
  if (has_content(from)) add_content(host, from, device);
  return device;
}

/// Devices and what they lie on, without mounts.
class Prober {
 public:
  explicit Prober(const Root& host) : host_(host) {}

  Result<Storage> run() {
    Result<std::vector<SysBlock>> found = list_block_devices(host_);
    if (!found) return tl::unexpected(found.error());
    storage_.source = "live";
    for (SysBlock& device : *found) {
      ask_dm(device);
      by_name_[device.name] = by_number_[device.number] = storage_.devices.size();
      storage_.devices.push_back(device_of(host_, device));
    }
    for (std::size_t i = 0; i < found->size(); ++i) link(i, (*found)[i]);
    return std::move(storage_);
  }

  /// Notes a mount point (or "[SWAP]") on the device that has it.
  static void add_mount(Storage& storage, const std::string& number, const std::string& mount) {
    for (BlockDevice& device : storage.devices)
      if (device.number == number) device.mounts.push_back(mount);
  }

 private:
  void ask_dm(SysBlock& device) {
    if (!device.name.starts_with("dm-")) return;
    const std::optional<DmDevice> answer = ask_device_mapper(host_, device.number);
    if (!answer) return;
    if (!answer->name.empty()) device.dm_name = answer->name;
    if (!answer->uuid.empty()) device.dm_uuid = answer->uuid;
    dm_numbers_[device.name] = answer->numbers;
  }

  void link(std::size_t child, const SysBlock& device) {
    const auto add = [&](const auto& map, const std::string& key) {
      const auto parent = map.find(key);
      if (parent == map.end() || parent->second == child) return;
      auto& parents = storage_.devices[child].parents;
      if (std::find(parents.begin(), parents.end(), parent->second) == parents.end())
        parents.push_back(parent->second);
    };
    if (!device.disk.empty()) add(by_name_, device.disk);
    for (const std::string& slave : device.slaves) add(by_name_, slave);
    if (const auto numbers = dm_numbers_.find(device.name); numbers != dm_numbers_.end())
      for (const std::string& number : numbers->second) add(by_number_, number);
  }

  const Root& host_;
  Storage storage_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, std::size_t> by_number_;
  std::map<std::string, std::vector<std::string>> dm_numbers_;
};

std::optional<std::string> number_of_node(const Root& host, const std::string& path) {
  const Result<struct stat> status = host.stat(path);
  if (!status || !S_ISBLK(status->st_mode)) return std::nullopt;
  return fmt::format("{}:{}", major(status->st_rdev), minor(status->st_rdev));
}

/// btrfs gives its files an anonymous device number; the source names one of its devices.
std::string number_of_mount(const Root& host, const Mount& mount) {
  if (mount.number.starts_with("0:") && mount.source.starts_with("/dev/"))
    return number_of_node(host, mount.source).value_or(mount.number);
  return mount.number;
}

void add_mounts(const Root& host, const std::vector<Mount>& mounts, Storage& storage) {
  for (const Mount& mount : mounts) {
    // The directory of another file system that is bound to "/" does not make its device the root.
    if (mount.mount_point == "/" && !mount.is_whole()) continue;
    Prober::add_mount(storage, number_of_mount(host, mount), mount.mount_point);
  }
}

void add_swaps(const Root& host, Storage& storage) {
  const Result<std::vector<std::string>> swaps = read_swaps(host);
  if (!swaps) return;
  for (const std::string& swap : *swaps) {
    if (const auto number = number_of_node(host, swap))
      Prober::add_mount(storage, *number, "[SWAP]");
  }
}

bool has_root(const std::vector<Mount>& mounts) {
  return std::any_of(mounts.begin(), mounts.end(),
                     [](const Mount& mount) { return mount.mount_point == "/"; });
}

Result<Storage> live_storage(const Root& root) {
  const Result<std::vector<Mount>> mounts = read_mounts(root);
  if (!mounts) return tl::unexpected(mounts.error());
  if (!has_root(*mounts))
    return fail(ErrorKind::missing, "/proc/self/mountinfo",
                "nothing is mounted at /: a chroot into a plain directory has no disks of its own");
  Result<Storage> storage = Prober(root).run();
  if (!storage) return storage;
  add_mounts(root, *mounts, *storage);
  add_swaps(root, *storage);
  return storage;
}

tl::unexpected<Error> not_attached() {
  return fail(ErrorKind::missing, "",
              "the tree's disks are not attached; give their lsblk output with --lsblk");
}

/// A tree that is a mounted file system: its disks are attached to this host. What the host itself
/// has mounted or swaps on is none of the guest's.
Result<Storage> mounted_tree_storage(const std::string& path) {
  const Result<Root> host = Root::open("/");
  if (!host) return tl::unexpected(host.error());
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  if (error) return not_attached();
  const Result<std::string> prefix = host->resolve(absolute);
  const Result<std::vector<Mount>> all = read_mounts(*host);
  if (!prefix || !all) return not_attached();
  const std::vector<Mount> mounts = mounts_under(*all, *prefix);
  const auto is_own_root = [](const Mount& mount) {
    return mount.mount_point == "/" && mount.is_whole();
  };
  if (std::none_of(mounts.begin(), mounts.end(), is_own_root)) return not_attached();
  Result<Storage> storage = Prober(*host).run();
  if (storage) add_mounts(*host, mounts, *storage);
  if (storage && !storage->mounted_at("/")) return not_attached();
  return storage;
}

}  // namespace

Result<Storage> collect_storage(const Guest& guest) {
  if (guest.lsblk_file) return from_listing(*guest.lsblk_file);
  return guest.live ? live_storage(guest.root) : mounted_tree_storage(guest.path);
}

}  // namespace preflight
