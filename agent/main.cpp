// SPDX-License-Identifier: MIT
// The only place that prints and exits.
#include <syslog.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>

#include "agent/cli/commands.h"
#include "agent/cli/progress.h"
#include "agent/cli/terminal.h"

namespace {

constexpr int internal_error = 70;

// A signal handler can reach nothing else.
std::atomic<bool> stop_asked{false};

void ask_to_stop(int) {
  stop_asked = true;
}

/// A run that changes the guest ends by its own decision: a key, a lost connection or a reader that
/// went away must not leave it half done. What the caller ignores stays ignored (nohup(1)).
void watch_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
}

void print(std::string_view text, std::FILE* stream) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

int run_options(const preflight::Options& options) {
  preflight::Surface surface;
  surface.style = style_for_stdout(options);
  surface.stop = &stop_asked;
  std::optional<preflight::ProgressLines> lines;
  if (!options.quiet) {
    lines.emplace(preflight::progress_style_for_stderr(options),
                  [](std::string_view text) { print(text, stderr); });
    surface.progress = std::ref(*lines);
  }
  using preflight::Mode;
  if (options.mode == Mode::fix || options.mode == Mode::finish || options.mode == Mode::undo ||
      options.mode == Mode::measure)
    watch_signals();
  const preflight::Reply reply = execute(options, surface);
  lines.reset();
  if (!reply.log.empty()) ::syslog(LOG_USER | LOG_NOTICE, "%s", reply.log.c_str());
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
