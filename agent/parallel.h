// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace preflight {

/// Calls `work` with 0, 1 .. count-1, begun in that order, up to `jobs` (at least 1) at a time.
/// Returns when all have returned. `work` must not throw.
void for_each_index(std::size_t count, std::size_t jobs,
                    const std::function<void(std::size_t)>& work);

/// How many of `count` pieces of work to do at a time: `wanted`, or (0) one for each core, as long
/// as there are `memory_each` bytes of memory for every one (MemAvailable of /proc/meminfo; not
/// known: no limit). At least 1.
std::size_t choose_jobs(std::size_t wanted, std::size_t count, std::size_t memory_each);

}  // namespace preflight
