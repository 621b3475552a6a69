// SPDX-License-Identifier: MIT
// Times writes that wait for the disk, as databases and etcd do them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/guest/root.h"
#include "agent/result.h"

namespace preflight {

enum class SyncKind {
  dsync,      // every write() to a file opened with O_DSYNC (dd oflag=dsync)
  fdatasync,  // write(), then fdatasync() (fio --fdatasync=1, etcd)
};

struct SyncLimits {
  std::size_t writes = 2000;
  std::chrono::seconds time{20};
};

inline constexpr std::size_t sync_block = 4096;  // bytes

/// Appends blocks to a file of its own in that directory and returns what each took, in
/// nanoseconds. The file has no name any more before the first write, so that nothing is left
/// however this ends. Errors: those of Root::open_directory, denied, io, stopped (`stop` was set).
Result<std::vector<std::uint64_t>> time_sync_writes(const Root& root, const std::string& directory,
                                                    SyncKind kind, const SyncLimits& limits,
                                                    const std::atomic<bool>* stop);

}  // namespace preflight
