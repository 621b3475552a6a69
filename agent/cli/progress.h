// SPDX-License-Identifier: MIT
// How long work is shown: on a terminal one line at the bottom that says what is being done and for
// how long, and a line that stays for whatever has ended; elsewhere plain lines.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "agent/progress.h"

namespace preflight {

struct ProgressStyle {
  bool terminal = false;  // the line at the bottom is redrawn
  int width = 80;         // columns of it
  bool passing = false;   // elsewhere: say also what is of interest only while it lasts
};

class ProgressLines {
 public:
  using Clock = std::chrono::steady_clock;

  /// `print` gets text for stderr, with its line ends.
  ProgressLines(ProgressStyle style, std::function<void(std::string_view)> print,
                std::function<Clock::time_point()> now = Clock::now);
  ProgressLines(const ProgressLines&) = delete;
  ProgressLines& operator=(const ProgressLines&) = delete;
  /// Clears the line at the bottom.
  ~ProgressLines();

  void operator()(const Progress& progress);

 private:
  struct Active {
    std::string what;
    bool lasting;
    Clock::time_point since;
  };

  void begin(const Progress& progress);
  void end(const Progress& progress);
  void say(const std::string& line);
  void redraw();
  void tick();

  ProgressStyle style_;
  std::function<void(std::string_view)> print_;
  std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Active> active_;  // oldest first
  bool drawn_ = false;        // something stands on the line at the bottom
  bool ending_ = false;
  std::thread ticker_;
};

}  // namespace preflight
