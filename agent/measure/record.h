// SPDX-License-Identifier: MIT
// One measurement as it is stored and reported: schema "nvme-preflight/measure/1". Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/formats/json.h"
#include "agent/measure/latency.h"
#include "agent/result.h"

namespace preflight {

struct MeasureRecord {
  std::string time;          // ISO 8601, UTC
  std::string directory;     // guest path
  std::string device;        // "/dev/vda3"; "" when it is not known
  std::string controller;    // "virtio-blk", "nvme", "other"; "" when it is not known
  LatencySummary dsync;      // write() to a file opened with O_DSYNC
  LatencySummary fdatasync;  // write(), then fdatasync()
};

Json to_json(const MeasureRecord& record);

/// Errors: malformed, with `path` as the source.
Result<MeasureRecord> parse_measure_record(const std::string& path, std::string_view text);

/// What a new measurement is compared with: of the earlier ones of the same directory (`earlier`,
/// oldest first) the newest on another controller, else the newest; nullptr when there is none.
const MeasureRecord* find_before(std::span<const MeasureRecord> earlier, const MeasureRecord& now);

}  // namespace preflight
