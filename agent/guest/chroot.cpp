// SPDX-License-Identifier: MIT
#include "agent/guest/chroot.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "agent/guest/fd.h"

namespace preflight {

namespace {

struct SystemTree {
  const char* source;
  const char* name;  // in the guest's root
};
constexpr std::array<SystemTree, 3> system_trees{
    {{"/proc", "proc"}, {"/sys", "sys"}, {"/dev", "dev"}}};

// What follows runs in the child, between fork and exec: system calls alone. 0 or an errno.

/// The current directory becomes the root, with the system's trees in it. Entered by fd and never
/// through a symlink, so a guest's "proc -> /" mounts nothing elsewhere.
int enter_chroot() {
  const int root = ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return errno;
  for (const SystemTree& tree : system_trees) {
    const int target = ::openat(root, tree.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (target < 0) return errno;
    if (::fchdir(target) != 0 || ::mount(tree.source, ".", nullptr, MS_BIND, nullptr) != 0)
      return errno;
    ::close(target);
  }
  if (::fchdir(root) != 0 || ::chroot(".") != 0 || ::chdir("/") != 0) return errno;
  ::close(root);
  return 0;
}

int show_overlays(const std::vector<Overlay>& overlays) {
  for (const Overlay& overlay : overlays) {
    const char* const over = overlay.over.c_str();
    if (overlay.shown.empty()) {
      if (::mount("tmpfs", over, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=1m") != 0)
        return errno;
      continue;
    }
    if (::mount(overlay.shown.c_str(), over, nullptr, MS_BIND, nullptr) != 0) return errno;
    // A bind mount takes its flags only when it is mounted again (mount(2)).
    if (overlay.shown == overlay.over &&
        ::mount(nullptr, over, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
      return errno;
  }
  return 0;
}

/// `root` is entered before the namespace is copied: a directory fd of the old one is no place to
/// mount on in the new one, the current directory is carried over.
int enter_namespace(int root, bool live, const std::vector<Overlay>& overlays) {
  if (live && overlays.empty()) return 0;
  if (!live && ::fchdir(root) != 0) return errno;
  if (::unshare(CLONE_NEWNS) != 0) return errno;
  // Else systemd's shared mounts would carry ours back to the host (mount_namespaces(7)).
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  if (!live)
    if (const int error = enter_chroot(); error != 0) return error;
  return show_overlays(overlays);
}

/// ioprio_set(2) has no wrapper; the values are linux/ioprio.h's. The last of the best-effort
/// class: the guest's own work goes first, and an idle class could starve under it. A kernel
/// without I/O priorities runs the program all the same.
void yield_the_disk() {
  constexpr int process = 1;                          // IOPRIO_WHO_PROCESS
  constexpr int last_of_best_effort = (2 << 13) | 7;  // IOPRIO_CLASS_BE
  ::syscall(SYS_ioprio_set, process, 0, last_of_best_effort);
}

/// Lives beside the program as the leader of its process group, holding nothing but the reading end
/// of a pipe. The pipe closes when the tool stops it or dies: then the whole group dies.
[[noreturn]] void watch(pid_t program, int control) {
  constexpr int highest_fd = 1024;
  for (int fd = 0; fd < highest_fd; ++fd)
    if (fd != control) ::close(fd);
  pollfd wait{control, POLLIN, 0};
  for (;;) {
    int status = 0;
    if (::waitpid(program, &status, WNOHANG) == program)
      ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    if (::poll(&wait, 1, 10) > 0) ::kill(0, SIGKILL);
  }
}

int split_off_watcher(int control) {
  const pid_t program = ::fork();
  if (program < 0) return errno;
  if (program > 0) watch(program, control);
  return 0;
}

/// Closes the pipe once a stop is asked for. run() blocks meanwhile, hence the thread.
class StopWatch {
 public:
  StopWatch(Fd pipe, const StopAsked& stop_asked) : pipe_(std::move(pipe)) {
    if (stop_asked) thread_ = std::thread([this, &stop_asked] { wait(stop_asked); });
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  ~StopWatch() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void wait(const StopAsked& stop_asked) {
    while (!done_ && !stop_asked()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (stop_asked()) pipe_ = Fd();
  }

  Fd pipe_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

Result<void> has_system_trees(const Root& root) {
  for (const SystemTree& tree : system_trees) {
    Result<struct stat> status = root.lstat(tree.source);
    if (!status) return tl::unexpected(status.error());
    if (!S_ISDIR(status->st_mode))
      return fail(ErrorKind::wrong_type, tree.source, "is no directory to mount on");
  }
  return {};
}

}  // namespace

Result<CommandOutput> run_in_guest(const Guest& guest, Command command,
                                   const std::vector<Overlay>& overlays,
                                   const StopAsked& stop_asked) {
  if (!guest.live)
    if (auto done = has_system_trees(guest.root); !done) return tl::unexpected(done.error());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "", "make a pipe");
  const Fd reading(ends[0]);
  const StopWatch stop_watch(Fd(ends[1]), stop_asked);
  command.in_child = [root = guest.root.fd(), live = guest.live, control = ends[0], &overlays] {
    yield_the_disk();
    const int error = enter_namespace(root, live, overlays);
    return error != 0 ? error : split_off_watcher(control);
  };
  return run(command);
}

}  // namespace preflight
