// SPDX-License-Identifier: MIT
#include "agent/transaction/run_log.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "agent/formats/text.h"

namespace preflight {

struct RunLog::State {
  std::mutex mutex;  // images are built side by side
  std::optional<Fd> file;
  std::string path;
  std::function<std::time_t()> now;

  void say(std::string_view text) {
    const std::lock_guard lock(mutex);
    if (!file) return;
    for (const std::string_view line : split_lines(text))
      (void)append_synced(file->get(), path,
                          fmt::format("{} {}\n", utc_time(now()), printable(line)));
  }
};

RunLog::RunLog(const Folder& run, std::function<std::time_t()> now)
    : state_(std::make_shared<State>()) {
  const At file = run / run_log_name;
  if (Result<Fd> fd = open_log(file)) state_->file = std::move(*fd);
  state_->path = file.path;
  state_->now = std::move(now);
}

void RunLog::say(std::string_view text) const {
  state_->say(text);
}

ProgressSink RunLog::beside(ProgressSink other) const {
  return [state = state_, other = std::move(other)](const Progress& progress) {
    state->say(line_of(progress));
    if (other) other(progress);
  };
}

}  // namespace preflight
