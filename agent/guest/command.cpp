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
  // What is ignored stays ignored across execve(2), and a "yes | head" would never end.
  ::signal(SIGPIPE, SIG_DFL);
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

struct Limit {
  std::size_t cap;
  Keep keep;
};

void cut_to(Limit limit, std::string& text, bool& cut) {
  if (text.size() <= limit.cap) return;
  cut = true;
  if (limit.keep == Keep::end) {
    text.erase(0, text.size() - limit.cap);
  } else {
    text.resize(limit.cap);
  }
}

/// Appends what is there to read; false at the end of the stream.
bool drain(int fd, std::string& into, Limit limit, bool& cut) {
  char buffer[16384];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  into.append(buffer, static_cast<std::size_t>(got));
  // Erasing at the front of a string moves the rest: not at every read.
  const std::size_t slack = limit.keep == Keep::end ? limit.cap : 0;
  if (into.size() > limit.cap + slack) cut_to(limit, into, cut);
  return true;
}

/// Whether the child is a zombie: its pid, and its group's, are then still its own.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

/// Feeds stdin and collects both outputs until they close, the child has ended and they are quiet,
/// or the time is up.
void talk(const Command& command, pid_t child, Fd to_child, Fd from_out, Fd from_err,
          CommandOutput& output) {
  constexpr long long quiet_ms = 100;
  const Limit limit{command.output_cap, command.keep};
  const auto deadline = Clock::now() + command.timeout;
  std::size_t fed = 0;
  if (command.input.empty()) to_child = Fd();
  while (to_child || from_out || from_err) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      output.timed_out = true;
      break;
    }
    std::array<pollfd, 3> fds{pollfd{to_child.get(), POLLOUT, 0}, pollfd{from_out.get(), POLLIN, 0},
                              pollfd{from_err.get(), POLLIN, 0}};
    const int ready =
        ::poll(fds.data(), fds.size(), static_cast<int>(std::min<long long>(left, quiet_ms)));
    if (ready < 0 && errno != EINTR) break;
    if (ready == 0 && has_ended(child)) break;
    if (fds[0].revents != 0) {
      const ssize_t sent =
          ::write(to_child.get(), command.input.data() + fed, command.input.size() - fed);
      if (sent > 0) fed += static_cast<std::size_t>(sent);
      if ((sent < 0 && errno != EINTR && errno != EAGAIN) || fed == command.input.size())
        to_child = Fd();
    }
    if (fds[1].revents != 0 && !drain(from_out.get(), output.out, limit, output.cut))
      from_out = Fd();
    if (fds[2].revents != 0 && !drain(from_err.get(), output.err, limit, output.cut))
      from_err = Fd();
  }
  cut_to(limit, output.out, output.cut);
  cut_to(limit, output.err, output.cut);
}

/// Waits for the child until the time is up, then kills what is left of its process group.
int reap(pid_t child, bool kill_now, Clock::time_point deadline) {
  while (!kill_now && !has_ended(child) && Clock::now() < deadline) ::poll(nullptr, 0, 5);
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
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
    reap(child, true, deadline);
    return fail_errno(error, command.argv[0], "run");
  }
  CommandOutput output;
  ::fcntl(in->write.get(), F_SETFL, O_NONBLOCK);
  talk(command, child, std::move(in->write), std::move(out->read), std::move(err->read), output);
  const bool overdue = output.timed_out;
  output.exit_status = reap(child, overdue, deadline);
  output.timed_out = overdue || Clock::now() >= deadline;
  return output;
}

}  // namespace preflight
