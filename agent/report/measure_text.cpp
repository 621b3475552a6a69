// SPDX-License-Identifier: MIT
#include "agent/report/measure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "agent/formats/text.h"

namespace preflight {

namespace {

struct Row {
  std::string_view title;
  double (*value)(const LatencySummary&);
  int decimals;
};

constexpr double milliseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e6;
}

constexpr Row rows[] = {
    {"writes", [](const LatencySummary& s) { return static_cast<double>(s.writes); }, 0},
    {"IOPS", [](const LatencySummary& s) { return s.per_second(); }, 0},
    {"kB/s", [](const LatencySummary& s) { return s.per_second() * 4.096; }, 0},
    {"p50 ms", [](const LatencySummary& s) { return milliseconds(s.p50_ns); }, 3},
    {"p99 ms", [](const LatencySummary& s) { return milliseconds(s.p99_ns); }, 3},
    {"max ms", [](const LatencySummary& s) { return milliseconds(s.max_ns); }, 3},
};

std::string where(const MeasureRecord& record) {
  std::string out = record.controller.empty() ? "unknown controller" : record.controller;
  if (!record.device.empty()) out += " " + printable(record.device);
  return out;
}

std::string table_alone(const MeasureRecord& now) {
  std::string out = fmt::format("  {:<10}{:>14}{:>18}\n", "", "O_DSYNC", "write+fdatasync");
  for (const Row& row : rows)
    out += fmt::format("  {:<10}{:>14.{}f}{:>18.{}f}\n", row.title, row.value(now.dsync),
                       row.decimals, row.value(now.fdatasync), row.decimals);
  return out;
}

std::string compared(std::string_view how, const LatencySummary& before,
                     const LatencySummary& now) {
  std::string out = fmt::format("  {:<16}{:>12}{:>12}{:>10}\n", how, "before", "now", "ratio");
  for (const Row& row : rows) {
    const double was = row.value(before), is = row.value(now);
    const std::string ratio = was > 0 ? fmt::format("{:.2f}", is / was) : "-";
    out += fmt::format("    {:<14}{:>12.{}f}{:>12.{}f}{:>10}\n", row.title, was, row.decimals, is,
                       row.decimals, row.title == "writes" ? "" : ratio);
  }
  return out;
}

std::string bar(std::uint64_t part, std::uint64_t whole) {
  constexpr std::uint64_t width = 20;
  return std::string(whole == 0 ? 0 : (part * width + whole - 1) / whole, '#');
}

std::string histogram(const MeasureRecord& record) {
  std::string out = fmt::format("  {:<10}{:>8} {:<20}{:>10}\n", "ms", "O_DSYNC", "", "fdatasync");
  for (std::size_t i = 0; i < record.dsync.histogram.size(); ++i) {
    const bool last = i == latency_bounds_us.size();
    const std::string bound =
        last ? "more" : fmt::format("<= {:g}", static_cast<double>(latency_bounds_us[i]) / 1000);
    const std::uint64_t a = record.dsync.histogram[i], b = record.fdatasync.histogram[i];
    std::string line = fmt::format("  {:<10}{:>8} {:<20}{:>10} {}", bound, a,
                                   bar(a, record.dsync.writes), b, bar(b, record.fdatasync.writes));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (!last && latency_bounds_us[i] == etcd_bound_us)
      out += "  ---- etcd wants 99% of its fdatasync calls above this line (10 ms)\n";
  }
  return out;
}

std::string verdict(const MeasureRecord& record) {
  const double p99 = milliseconds(record.fdatasync.p99_ns);
  return fmt::format("For etcd (p99 of fdatasync below 10 ms): {} ({:.3f} ms)\n",
                     p99 < static_cast<double>(etcd_bound_us) / 1000 ? "fast enough" : "too slow",
                     p99);
}

}  // namespace

std::string measure_text(const MeasureRecord& now, const MeasureRecord* before) {
  std::string out = fmt::format("4 KiB sync writes in {} on {}, {}\n", printable(now.directory),
                                where(now), now.time);
  if (before) {
    out += fmt::format("before: on {}, {}\n\n", where(*before), printable(before->time));
    out += compared("O_DSYNC", before->dsync, now.dsync);
    out += compared("write+fdatasync", before->fdatasync, now.fdatasync);
  } else {
    out += "\n" + table_alone(now);
  }
  return out + "\n" + histogram(now) + "\n" + verdict(now);
}

std::string measure_json(const MeasureRecord& now, const MeasureRecord* before) {
  Json json = to_json(now);
  auto object = std::get<Json::Object>(json.value());
  object.emplace_back("before", before ? to_json(*before) : Json());
  return dump_json(Json(std::move(object)), 2) + "\n";
}

}  // namespace preflight
