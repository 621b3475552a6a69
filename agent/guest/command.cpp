// SPDX-License-Identifier: MIT
#include "agent/guest/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "agent/guest/fd.h"

namespace preflight {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "", "make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// In the child: never returns. A failure's errno goes to `report`, which exec closes.
[[noreturn]] void become(const Command& command, char* const* argv, char* const* environment,
                         const std::array<int, 3>& standard, int report) {
  ::setpgid(0, 0);
  int error = 0;
  for (int target = 0; target < 3; ++target)
    if (::dup2(standard[static_cast<std::size_t>(target)], target) < 0) error = errno;
  if (error == 0 && command.in_child) error = command.in_child();
  if (error == 0) {
    ::execve(argv[0], argv, environment);
    error = errno;
  }
  [[maybe_unused]] const ssize_t told = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Appends what is there to read; false at the end of the stream.
bool drain(int fd, std::string& into, std::size_t cap, bool& cut) {
  char buffer[16384];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  const std::size_t room = cap > into.size() ? cap - into.size() : 0;
  const auto length = static_cast<std::size_t>(got);
  into.append(buffer, std::min(room, length));
  cut = cut || length > room;
  return true;
}

/// Feeds stdin and collects both outputs until they close or the time is up.
void talk(const Command& command, Fd to_child, Fd from_out, Fd from_err, CommandOutput& output) {
  const auto deadline = Clock::now() + command.timeout;
  std::size_t fed = 0;
  if (command.input.empty()) to_child = Fd();
  while (to_child || from_out || from_err) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      output.timed_out = true;
      return;
    }
    std::array<pollfd, 3> fds{pollfd{to_child.get(), POLLOUT, 0}, pollfd{from_out.get(), POLLIN, 0},
                              pollfd{from_err.get(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(std::min<long long>(left, 1000))) < 0 &&
        errno != EINTR)
      return;
    if (fds[0].revents != 0) {
      const ssize_t sent =
          ::write(to_child.get(), command.input.data() + fed, command.input.size() - fed);
      if (sent > 0) fed += static_cast<std::size_t>(sent);
      if ((sent < 0 && errno != EINTR && errno != EAGAIN) || fed == command.input.size())
        to_child = Fd();
    }
    if (fds[1].revents != 0 && !drain(from_out.get(), output.out, command.output_cap, output.cut))
      from_out = Fd();
    if (fds[2].revents != 0 && !drain(from_err.get(), output.err, command.output_cap, output.cut))
      from_err = Fd();
  }
}

/// Waits for the child, killing its process group once the time is up.
int reap(pid_t child, bool kill_now, Clock::time_point deadline) {
  int status = 0;
  for (;;) {
    if (kill_now || Clock::now() >= deadline) ::kill(-child, SIGKILL);
    const pid_t done = ::waitpid(child, &status, kill_now ? 0 : WNOHANG);
    if (done == child) break;
    if (done < 0 && errno != EINTR) break;
    if (done == 0) ::poll(nullptr, 0, 5);
  }
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WEXITSTATUS(status);
}

}  // namespace

Result<CommandOutput> run(const Command& command) {
  // A child that exits without reading its input must not end us.
  ::signal(SIGPIPE, SIG_IGN);
  Result<Pipe> in = make_pipe();
  Result<Pipe> out = make_pipe();
  Result<Pipe> err = make_pipe();
  Result<Pipe> report = make_pipe();
  for (const auto* made : {&in, &out, &err, &report})
    if (!*made) return tl::unexpected(made->error());

  const std::vector<char*> argv = pointers(command.argv);
  const std::vector<char*> environment = pointers(command.environment);
  const auto deadline = Clock::now() + command.timeout;
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, command.argv[0], "fork");
  if (child == 0)
    become(command, argv.data(), environment.data(),
           {in->read.get(), out->write.get(), err->write.get()}, report->write.get());

  in->read = Fd();
  out->write = Fd();
  err->write = Fd();
  report->write = Fd();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report->read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    reap(child, false, deadline);
    return fail_errno(error, command.argv[0], "run");
  }
  CommandOutput output;
  ::fcntl(in->write.get(), F_SETFL, O_NONBLOCK);
  talk(command, std::move(in->write), std::move(out->read), std::move(err->read), output);
  const bool overdue = output.timed_out;
  output.exit_status = reap(child, overdue, deadline);
  output.timed_out = overdue || Clock::now() >= deadline;
  return output;
}

}  // namespace preflight
