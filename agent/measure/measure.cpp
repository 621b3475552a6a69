// SPDX-License-Identifier: MIT
#include "agent/measure/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/guest/writer.h"
#include "agent/transaction/run_folder.h"

namespace preflight {

namespace {

// Twice what both rounds write, and a reserve that a busy file system can still breathe with.
constexpr std::uint64_t room_wanted = 64u << 20;

bool is_above(std::string_view mount_point, std::string_view path) {
  if (mount_point == "/" || mount_point == path) return true;
  return path.starts_with(mount_point) && path[mount_point.size()] == '/';
}

Result<void> check_room(const Guest& guest, const std::string& directory) {
  const Result<Fd> place = guest.root.open_directory(directory);
  if (!place) return tl::unexpected(place.error());
  const Result<Space> space = space_at(place->get(), directory);
  if (!space) return tl::unexpected(space.error());
  if (space->read_only) return fail(ErrorKind::denied, directory, "its file system is read-only");
  if (space->free_bytes < room_wanted)
    return fail(ErrorKind::too_large, directory,
                fmt::format("its file system has {} MiB free, and {} MiB are wanted before "
                            "anything is written to it",
                            space->free_bytes >> 20, room_wanted >> 20));
  return {};
}

}  // namespace

const BlockDevice* device_of_path(const Storage& storage, std::string_view path) {
  const BlockDevice* found = nullptr;
  std::size_t longest = 0;
  for (const BlockDevice& device : storage.devices)
    for (const std::string& mount : device.mounts)
      if (mount.starts_with('/') && is_above(mount, path) && mount.size() > longest) {
        found = &device;
        longest = mount.size();
      }
  return found;
}

std::string controller_of(const Storage& storage, const BlockDevice& device) {
  const auto index = static_cast<std::size_t>(&device - storage.devices.data());
  const std::vector<std::size_t> disks = storage.disks_under(index);
  if (disks.empty()) return "";
  const auto all = [&](auto is) {
    return std::all_of(disks.begin(), disks.end(),
                       [&](std::size_t disk) { return is(storage.devices[disk]); });
  };
  if (all([](const BlockDevice& disk) { return disk.is_nvme(); })) return "nvme";
  if (all([](const BlockDevice& disk) { return disk.is_virtio(); })) return "virtio-blk";
  return "other";
}

Result<MeasureRecord> measure(const Guest& guest, const Result<Storage>& storage,
                              const std::string& directory, const SyncLimits& limits,
                              std::time_t now, const std::atomic<bool>* stop) {
  MeasureRecord record;
  const Result<std::string> path = guest.root.resolve(directory);
  if (!path) return tl::unexpected(path.error());
  record.directory = *path;
  record.time = utc_time(now);
  if (const BlockDevice* device = storage ? device_of_path(*storage, *path) : nullptr) {
    record.device = device->path;
    record.controller = controller_of(*storage, *device);
  }
  if (auto room = check_room(guest, *path); !room) return tl::unexpected(room.error());
  for (const auto& [kind, summary] : {std::pair(SyncKind::dsync, &record.dsync),
                                      std::pair(SyncKind::fdatasync, &record.fdatasync)}) {
    const auto taken = time_sync_writes(guest.root, *path, kind, limits, stop);
    if (!taken) return tl::unexpected(taken.error());
    *summary = summarize(*taken);
  }
  return record;
}

std::vector<MeasureRecord> stored_measurements(const Guest& guest) {
  std::vector<MeasureRecord> records;
  const auto names = guest.root.list(measurements_path, 10000);
  if (!names) return records;
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", measurements_path, name);
    const Result<std::string> text = guest.root.read(path);
    if (!text) continue;
    if (Result<MeasureRecord> record = parse_measure_record(path, *text))
      records.push_back(std::move(*record));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const MeasureRecord& a, const MeasureRecord& b) { return a.time < b.time; });
  return records;
}

Result<void> store_measurement(const Guest& guest, const MeasureRecord& record) {
  const Result<RunsFolder> runs = RunsFolder::ensure(guest.root);
  if (!runs) return tl::unexpected(runs.error());
  const At directory = runs->folder() / "measurements";
  const auto attributes = fresh_attributes(runs->folder().fd.get(), directory.path, 0700);
  if (!attributes) return tl::unexpected(attributes.error());
  if (auto made = make_directory(directory, *attributes); !made)
    return tl::unexpected(made.error());
  const Result<Folder> folder = Folder::open(guest.root, measurements_path);
  if (!folder) return tl::unexpected(folder.error());
  const std::string text = dump_json(to_json(record), 2) + "\n";
  return create_file(*folder / (record.time + ".json"), bytes_of(text));
}

}  // namespace preflight
