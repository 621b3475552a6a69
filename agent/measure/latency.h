// SPDX-License-Identifier: MIT
// What a series of write latencies amounts to. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace preflight {

/// Upper bounds of the histogram's classes in microseconds; the last class has none. 10 ms is what
/// etcd asks of the 99th percentile of its log's fdatasync (etcd.io, FAQ and hardware guide:
/// wal_fsync_duration_seconds).
inline constexpr std::array<std::uint64_t, 9> latency_bounds_us{250,   500,   1000,  2000,  5000,
                                                                10000, 20000, 50000, 100000};
inline constexpr std::uint64_t etcd_bound_us = 10000;

struct LatencySummary {
  std::uint64_t writes = 0;
  std::uint64_t total_ns = 0;  // the sum: one write waits for the one before
  std::uint64_t p50_ns = 0;    // nearest rank
  std::uint64_t p99_ns = 0;
  std::uint64_t max_ns = 0;
  std::array<std::uint64_t, latency_bounds_us.size() + 1> histogram{};

  double per_second() const;
};

/// `nanoseconds`: one number for each write.
LatencySummary summarize(std::span<const std::uint64_t> nanoseconds);

}  // namespace preflight
