// SPDX-License-Identifier: MIT
#include "agent/guest/descendants.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace preflight {

namespace {

/// proc(5): "pid (name) state ppid ...", and the name may hold anything.
pid_t parent_of(pid_t pid) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re"), &std::fclose);
  char text[512] = {};
  if (!file || std::fread(text, 1, sizeof text - 1, file.get()) == 0) return 0;
  const std::string line(text);
  const std::size_t name_end = line.rfind(')');
  int parent = 0;
  if (name_end == std::string::npos ||
      std::sscanf(line.c_str() + name_end, ") %*c %d", &parent) != 1)
    return 0;
  return parent;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), &::closedir);
  if (!processes) return found;
  const pid_t self = ::getpid();
  while (const dirent* entry = ::readdir(processes.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && parent_of(pid) == self) found.push_back(pid);
  }
  return found;
}

}  // namespace

Descendants::Descendants() : before_(children()) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

Descendants::~Descendants() {
  // The children of a killed one become ours in their turn. Bounded, for one that forks for ever.
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    std::vector<pid_t> found = children();
    std::erase_if(found, [&](pid_t pid) {
      return std::find(before_.begin(), before_.end(), pid) != before_.end();
    });
    if (found.empty()) break;
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    for (const pid_t pid : found)
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper_, 0, 0, 0);
}

}  // namespace preflight
