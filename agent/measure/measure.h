// SPDX-License-Identifier: MIT
// Was it worth it: sync-write latency in a directory, before and after the switch.
//
//   the directory -> its device and controller (facts) -> timed writes (guest/sync_writes.h)
//     -> summaries (latency.h) -> a record (record.h), stored and compared with the earlier ones
#pragma once

#include <atomic>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "agent/facts/storage.h"
#include "agent/guest/guest.h"
#include "agent/guest/sync_writes.h"
#include "agent/measure/record.h"
#include "agent/result.h"

namespace preflight {

inline constexpr const char* measurements_path = "/var/lib/nvme-preflight/measurements";

/// The device a guest path lies on: that of the longest mount point above it. nullptr: not known.
const BlockDevice* device_of_path(const Storage& storage, std::string_view path);

/// "virtio-blk", "nvme" or "other", by the disks below a device; "" when none is known.
std::string controller_of(const Storage& storage, const BlockDevice& device);

/// Errors: those of time_sync_writes; too_large when the file system has no room to spare.
Result<MeasureRecord> measure(const Guest& guest, const Result<Storage>& storage,
                              const std::string& directory, const SyncLimits& limits,
                              std::time_t now, const std::atomic<bool>* stop);

/// The stored records, oldest first; files that are none are left out.
std::vector<MeasureRecord> stored_measurements(const Guest& guest);

/// Stores the record in measurements_path under its time.
Result<void> store_measurement(const Guest& guest, const MeasureRecord& record);

}  // namespace preflight
