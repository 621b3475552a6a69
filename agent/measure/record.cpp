// SPDX-License-Identifier: MIT
#include "agent/measure/record.h"

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::string_view schema = "nvme-preflight/measure/1";

Json number(std::uint64_t value) {
  return Json(static_cast<std::int64_t>(value));
}

Json to_json(const LatencySummary& summary) {
  Json::Array histogram;
  for (std::size_t i = 0; i < summary.histogram.size(); ++i)
    histogram.emplace_back(Json::Object{
        {"up_to_us", i < latency_bounds_us.size() ? number(latency_bounds_us[i]) : Json()},
        {"writes", number(summary.histogram[i])}});
  return Json::Object{{"writes", number(summary.writes)}, {"total_ns", number(summary.total_ns)},
                      {"p50_ns", number(summary.p50_ns)}, {"p99_ns", number(summary.p99_ns)},
                      {"max_ns", number(summary.max_ns)}, {"histogram", std::move(histogram)}};
}

/// Reads one number of an object; `ok` becomes false when it is missing or negative.
std::uint64_t take(const Json& object, std::string_view key, bool& ok) {
  const Json* value = object.find(key);
  const std::int64_t* integer = value ? value->integer() : nullptr;
  if (!integer || *integer < 0) {
    ok = false;
    return 0;
  }
  return static_cast<std::uint64_t>(*integer);
}

std::optional<LatencySummary> parse_summary(const Json* object) {
  const Json* histogram = object ? object->find("histogram") : nullptr;
  LatencySummary summary;
  if (!histogram || !histogram->array() || histogram->array()->size() != summary.histogram.size())
    return std::nullopt;
  bool ok = true;
  summary.writes = take(*object, "writes", ok);
  summary.total_ns = take(*object, "total_ns", ok);
  summary.p50_ns = take(*object, "p50_ns", ok);
  summary.p99_ns = take(*object, "p99_ns", ok);
  summary.max_ns = take(*object, "max_ns", ok);
  for (std::size_t i = 0; i < summary.histogram.size(); ++i)
    summary.histogram[i] = take((*histogram->array())[i], "writes", ok);
  return ok ? std::optional(summary) : std::nullopt;
}

}  // namespace

Json to_json(const MeasureRecord& record) {
  return Json::Object{{"schema", schema},
                      {"time", record.time},
                      {"directory", printable(record.directory)},
                      {"device", printable(record.device)},
                      {"controller", record.controller},
                      {"block_bytes", 4096},
                      {"dsync", to_json(record.dsync)},
                      {"fdatasync", to_json(record.fdatasync)}};
}

Result<MeasureRecord> parse_measure_record(const std::string& path, std::string_view text) {
  const Result<Json> json = parse_json(path, text);
  if (!json) return tl::unexpected(json.error());
  const auto dsync = parse_summary(json->find("dsync"));
  const auto fdatasync = parse_summary(json->find("fdatasync"));
  if (json->text("schema") != schema || !dsync || !fdatasync)
    return fail(ErrorKind::malformed, path, "it is no measurement of nvme-preflight");
  return MeasureRecord{json->text("time"),
                       json->text("directory"),
                       json->text("device"),
                       json->text("controller"),
                       *dsync,
                       *fdatasync};
}

const MeasureRecord* find_before(std::span<const MeasureRecord> earlier, const MeasureRecord& now) {
  const MeasureRecord* newest = nullptr;
  const MeasureRecord* on_another = nullptr;
  for (const MeasureRecord& record : earlier) {
    if (record.directory != printable(now.directory)) continue;
    newest = &record;
    if (record.controller != now.controller) on_another = &record;
  }
  return on_another ? on_another : newest;
}

}  // namespace preflight
