// SPDX-License-Identifier: MIT
#include "agent/measure/latency.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace preflight {

namespace {

std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

double LatencySummary::per_second() const {
  return total_ns == 0 ? 0 : static_cast<double>(writes) * 1e9 / static_cast<double>(total_ns);
}

LatencySummary summarize(std::span<const std::uint64_t> nanoseconds) {
  LatencySummary summary;
  if (nanoseconds.empty()) return summary;
  std::vector<std::uint64_t> sorted(nanoseconds.begin(), nanoseconds.end());
  std::sort(sorted.begin(), sorted.end());
  summary.writes = sorted.size();
  summary.total_ns = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
  summary.p50_ns = percentile(sorted, 50);
  summary.p99_ns = percentile(sorted, 99);
  summary.max_ns = sorted.back();
  for (const std::uint64_t one : sorted) {
    const auto bound =
        std::lower_bound(latency_bounds_us.begin(), latency_bounds_us.end(), one,
                         [](std::uint64_t us, std::uint64_t ns) { return us * 1000 < ns; });
    ++summary.histogram[static_cast<std::size_t>(bound - latency_bounds_us.begin())];
  }
  return summary;
}

}  // namespace preflight
