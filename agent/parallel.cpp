// SPDX-License-Identifier: MIT
#include "agent/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace preflight {

namespace {

/// proc_meminfo(5): "MemAvailable:   12345 kB".
std::optional<std::size_t> available_memory() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/meminfo", "re"),
                                                             &std::fclose);
  char line[256];
  std::size_t kilobytes = 0;
  while (file && std::fgets(line, sizeof line, file.get()))
    if (std::sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1) return kilobytes * 1024;
  return std::nullopt;
}

}  // namespace

void for_each_index(std::size_t count, std::size_t jobs,
                    const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto drain = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min(jobs, count); ++i) helpers.emplace_back(drain);
  drain();
  for (std::thread& helper : helpers) helper.join();
}

std::size_t choose_jobs(std::size_t wanted, std::size_t count, std::size_t memory_each) {
  std::size_t jobs = wanted;
  if (jobs == 0) {
    jobs = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    if (const auto memory = available_memory()) jobs = std::min(jobs, *memory / memory_each);
  }
  return std::clamp<std::size_t>(jobs, 1, std::max<std::size_t>(count, 1));
}

}  // namespace preflight
