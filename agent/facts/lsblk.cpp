// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "agent/facts/storage.h"
#include "agent/formats/json.h"

namespace preflight {

namespace {

// A hundred times what a guest has; a name is looked for among all of them.
constexpr std::size_t device_cap = 4096;
// Of one device. "/" that is not among them makes root unknown.
constexpr std::size_t mounts_cap = 4096;

/// lsblk of util-linux 2.32 prints every value as a string, later ones print numbers.
std::string text_of(const Json& node, std::string_view key) {
  const Json* member = node.find(key);
  if (!member) return {};
  if (const std::string* text = member->string()) return *text;
  if (const std::int64_t* number = member->integer()) return std::to_string(*number);
  return {};
}

std::uint32_t number_of(const Json& node, std::string_view key) {
  const std::string text = text_of(node, key);
  std::uint32_t value = 0;
  const auto end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  return done.ec == std::errc() && done.ptr == end ? value : 0;
}

std::vector<std::string> mounts_of(const Json& node) {
  std::vector<std::string> mounts;
  const auto add = [&](const std::string& mount) {
    if (!mount.empty() && mounts.size() < mounts_cap &&
        std::find(mounts.begin(), mounts.end(), mount) == mounts.end())
      mounts.push_back(mount);
  };
  add(node.text("mountpoint"));
  if (const Json* several = node.find("mountpoints"); several && several->array()) {
    for (const Json& mount : *several->array())
      if (mount.string()) add(*mount.string());
  }
  return mounts;
}

bool is_device_mapper(const BlockDevice& device) {
  return device.name.starts_with("dm-") || device.path.starts_with("/dev/mapper/") ||
         device.type == "lvm" || device.type == "crypt" || device.type == "mpath" ||
         device.type == "dm";
}

/// The kernel writes '!' for a slash in device names (cciss!c0d0).
std::string default_path(const BlockDevice& device, std::string name) {
  if (is_device_mapper(device)) return "/dev/mapper/" + name;
  std::replace(name.begin(), name.end(), '!', '/');
  return "/dev/" + name;
}

BlockDevice device_of(const Json& node) {
  BlockDevice device;
  const std::string shown = node.text("name");
  device.name = node.text("kname");
  if (device.name.empty()) device.name = shown;
  device.number = node.text("maj:min");
  device.path = node.text("path");
  device.type = node.text("type");
  // The PATH column is younger than EL 8's lsblk 2.32.
  if (device.path.empty()) device.path = default_path(device, shown);
  if (is_device_mapper(device)) {
    constexpr std::string_view mapper = "/dev/mapper/";
    device.dm_name = device.path.starts_with(mapper) ? device.path.substr(mapper.size()) : shown;
  }
  device.fstype = node.text("fstype");
  device.uuid = node.text("uuid");
  device.label = node.text("label");
  device.partuuid = node.text("partuuid");
  device.partlabel = node.text("partlabel");
  device.serial = std::string(text_of(node, "serial"));
  device.transport = node.text("tran");
  device.sector_size = number_of(node, "log-sec");
  if (device.sector_size == 0) device.sector_size = number_of(node, "log_sec");
  device.mounts = mounts_of(node);
  return device;
}

class Reader {
 public:
  explicit Reader(const std::string& path) { storage_.source = path; }

  /// Recursion is bounded: parse_json refuses nesting over 64.
  Result<void> add_all(const Json& nodes, std::optional<std::size_t> parent) {
    if (nodes.is_null()) return {};
    if (!nodes.array())
      return fail(ErrorKind::malformed, storage_.source, "a list of devices is expected");
    for (const Json& node : *nodes.array()) {
      if (Result<void> done = add(node, parent); !done) return done;
    }
    return {};
  }

  /// A flat listing tells parents by the PKNAME column alone.
  Storage finish() {
    for (const auto& [child, parent_name] : named_parents_) {
      if (const auto found = by_name_.find(parent_name); found != by_name_.end())
        link(child, found->second);
    }
    return std::move(storage_);
  }

 private:
  Result<void> add(const Json& node, std::optional<std::size_t> parent) {
    if (!node.object() || node.text("name").empty())
      return fail(ErrorKind::malformed, storage_.source, "a device without a name");
    BlockDevice device = device_of(node);
    const std::string key = device.number.empty() ? device.name : device.number;
    const auto [place, is_new] = by_key_.try_emplace(key, storage_.devices.size());
    const std::size_t index = place->second;
    if (is_new && index == device_cap)
      return fail(ErrorKind::too_large, storage_.source,
                  fmt::format("over {} devices", device_cap));
    if (is_new) {
      by_name_.try_emplace(device.name, index);
      storage_.devices.push_back(std::move(device));
    }
    if (parent) link(index, *parent);
    if (const std::string name = node.text("pkname"); !name.empty())
      named_parents_.emplace_back(index, name);
    const Json* children = node.find("children");
    return children ? add_all(*children, index) : Result<void>{};
  }

  void link(std::size_t child, std::size_t parent) {
    if (child != parent && links_.emplace(child, parent).second)
      storage_.devices[child].parents.push_back(parent);
  }

  Storage storage_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::set<std::pair<std::size_t, std::size_t>> links_;
  std::vector<std::pair<std::size_t, std::string>> named_parents_;
};

}  // namespace

Result<Storage> parse_lsblk(const std::string& path, std::string_view text) {
  const Result<Json> json = parse_json(path, text);
  if (!json) return tl::unexpected(json.error());
  const Json* devices = json->find("blockdevices");
  if (!devices)
    return fail(ErrorKind::malformed, path,
                "no \"blockdevices\": lsblk --json --bytes --output-all is expected");
  Reader reader(path);
  if (Result<void> done = reader.add_all(*devices, std::nullopt); !done)
    return tl::unexpected(done.error());
  return reader.finish();
}

}  // namespace preflight
