// SPDX-License-Identifier: MIT
#include "agent/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace preflight {

namespace {

constexpr int narrowest = 40;
constexpr int widest = 120;
constexpr int width_of_a_file = 100;

int columns(const winsize& size) {
  if (const char* text = std::getenv("COLUMNS")) {
    if (const int value = std::atoi(text); value > 0) return value;
  }
  return size.ws_col > 0 ? size.ws_col : width_of_a_file;
}

winsize size_of(int terminal) {
  winsize size{};
  if (::ioctl(terminal, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

/// One that erases and colours, as every terminal but the "dumb" one does.
bool is_capable(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && (!term || std::string_view(term) != "dumb");
}

bool wants_color(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return is_capable(STDOUT_FILENO) && (!no_color || *no_color == '\0');
}

}  // namespace

TextStyle style_for_stdout(const Options& options) {
  TextStyle style;
  style.color = wants_color(options.color);
  const winsize size = size_of(STDOUT_FILENO);
  style.width = std::clamp(columns(size), narrowest, widest);
  style.height = size.ws_row;
  style.quiet = options.quiet;
  style.verbose = options.verbose;
  return style;
}

ProgressStyle progress_style_for_stderr(const Options& options) {
  return {is_capable(STDERR_FILENO), columns(size_of(STDERR_FILENO)), options.verbose};
}

}  // namespace preflight
