// SPDX-License-Identifier: MIT
// What long work says of itself while it is at it. How it is shown is agent/cli/progress.h's.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace preflight {

struct Progress {
  enum class Kind {
    note,   // happened at once
    begin,  // `what` is being done from now on
    end,    // the `what` that was begun is done; `result` says what came of it
  };
  Kind kind = Kind::note;
  std::string what;     // "building /boot/initramfs-5.14.0.img (1 of 3)"
  std::string result;   // of an end; "" when there is nothing to say
  bool lasting = true;  // false: of interest only while it lasts
};

/// The line that says it.
inline std::string line_of(const Progress& progress) {
  if (progress.kind != Progress::Kind::end) return progress.what;
  return progress.what + ": " + (progress.result.empty() ? "done" : progress.result);
}

/// May be called from several threads at a time.
using ProgressSink = std::function<void(const Progress&)>;

/// Says that something is being done for as long as it lives.
class Underway {
 public:
  Underway(ProgressSink sink, std::string what, bool lasting = true)
      : sink_(std::move(sink)), progress_{Progress::Kind::begin, std::move(what), "", lasting} {
    if (sink_) sink_(progress_);
  }
  Underway(const Underway&) = delete;
  Underway& operator=(const Underway&) = delete;
  ~Underway() {
    progress_.kind = Progress::Kind::end;
    if (sink_) sink_(progress_);
  }

  void result(std::string text) { progress_.result = std::move(text); }

 private:
  ProgressSink sink_;
  Progress progress_;
};

}  // namespace preflight
