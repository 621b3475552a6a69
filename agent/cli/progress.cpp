// SPDX-License-Identifier: MIT
#include "agent/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/formats/text.h"
#include "agent/report/wrap.h"

namespace preflight {

namespace {

constexpr std::string_view erase_line = "\r\x1b[K";

long long seconds_since(ProgressLines::Clock::time_point since,
                        ProgressLines::Clock::time_point now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now - since).count();
}

}  // namespace

ProgressLines::ProgressLines(ProgressStyle style, std::function<void(std::string_view)> print,
                             std::function<Clock::time_point()> now)
    : style_(style), print_(std::move(print)), now_(std::move(now)) {
  if (style_.terminal) ticker_ = std::thread([this] { tick(); });
}

ProgressLines::~ProgressLines() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (drawn_) print_(erase_line);
}

void ProgressLines::operator()(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  switch (progress.kind) {
    case Progress::Kind::note:
      say(progress.what);
      break;
    case Progress::Kind::begin:
      begin(progress);
      break;
    case Progress::Kind::end:
      end(progress);
      break;
  }
  redraw();
}

void ProgressLines::begin(const Progress& progress) {
  active_.push_back({progress.what, progress.lasting, now_()});
  if (!style_.terminal && (progress.lasting || style_.passing)) say(progress.what);
}

void ProgressLines::end(const Progress& progress) {
  const auto it = std::find_if(active_.begin(), active_.end(),
                               [&](const Active& active) { return active.what == progress.what; });
  if (it == active_.end()) return;
  const Active ended = *it;
  active_.erase(it);
  if (!ended.lasting && (style_.terminal || !style_.passing)) return;
  say(fmt::format("{}, {} s", line_of(progress), seconds_since(ended.since, now_())));
}

void ProgressLines::say(const std::string& line) {
  print_(fmt::format("{}{}\n", drawn_ ? erase_line : "", printable(line)));
  drawn_ = false;
}

void ProgressLines::redraw() {
  if (!style_.terminal) return;
  if (active_.empty()) {
    if (drawn_) print_(erase_line);
    drawn_ = false;
    return;
  }
  const Active& oldest = active_.front();
  std::string line =
      fmt::format("{:>4} s  {}", seconds_since(oldest.since, now_()), printable(oldest.what));
  if (active_.size() > 1) line += fmt::format(", and {} more", active_.size() - 1);
  // A line that wraps could not be erased again.
  print_(fmt::format("{}{}", erase_line, cut(std::move(line), style_.width - 1)));
  drawn_ = true;
}

void ProgressLines::tick() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ending_; }))
    if (!active_.empty()) redraw();
}

}  // namespace preflight
