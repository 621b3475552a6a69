// SPDX-License-Identifier: MIT
// The only place that prints and exits.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>

#include "agent/cli/commands.h"
#include "agent/cli/terminal.h"
#include "agent/formats/text.h"

namespace {

constexpr int internal_error = 70;

// A signal handler can reach nothing else.
std::atomic<bool> stop_asked{false};

void ask_to_stop(int) {
  stop_asked = true;
}

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void print(const std::string& text, std::FILE* stream) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

int run_options(const preflight::Options& options) {
  preflight::Surface surface;
  surface.style = style_for_stdout(options);
  surface.stop = &stop_asked;
  surface.progress = [&](std::string_view line) {
    if (!options.quiet) print(preflight::printable(line) + "\n", stderr);
  };
  using preflight::Mode;
  if (options.mode == Mode::fix || options.mode == Mode::undo || options.mode == Mode::measure)
    watch_signals();
  const preflight::Reply reply = execute(options, surface);
  print(reply.err, stderr);
  print(reply.out, stdout);
  // A report that could not be printed is an error, but 4, 5 and 6 say what is on the disk.
  constexpr int least_about_the_disk = 4;
  const bool cut = std::ferror(stdout) != 0 && reply.exit_code < least_about_the_disk;
  return cut ? internal_error : reply.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto parsed = preflight::parse_options(argc, argv);
    if (const auto* answered = std::get_if<preflight::Answered>(&parsed)) {
      print(answered->err, stderr);
      print(answered->out, stdout);
      return answered->exit_code;
    }
    return run_options(std::get<preflight::Options>(parsed));
  } catch (const std::exception& error) {
    print(std::string("nvme-preflight: internal error: ") + error.what() + "\n", stderr);
    return internal_error;
  }
}
