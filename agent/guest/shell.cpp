// SPDX-License-Identifier: MIT
#include "agent/guest/shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>

#include "agent/formats/text.h"
#include "agent/guest/command.h"
#include "agent/guest/fd.h"

namespace preflight {

namespace {

constexpr std::size_t file_cap = 200;  // each is a descriptor of the child
constexpr uid_t nobody = 65534;

/// A mount of this system, and the flags it keeps when it is made read-only.
struct MountPoint {
  std::string path;
  unsigned long flags = 0;
};

Result<std::string> read_mountinfo() {
  const std::string path = "/proc/self/mountinfo";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path, "open");
  std::string text;
  char buffer[8192];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path, "read");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

/// proc(5): blanks, newlines and backslashes in mount points are written as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      out += text[i];
      continue;
    }
    int code = 0;
    for (std::size_t digit = 1; digit <= 3; ++digit) code = code * 8 + (text[i + digit] - '0');
    out += static_cast<char>(code);
    i += 3;
  }
  return out;
}

unsigned long mount_flags(std::string_view options) {
  constexpr std::array<std::pair<std::string_view, unsigned long>, 5> known = {
      {{"nodev", MS_NODEV},
       {"noexec", MS_NOEXEC},
       {"noatime", MS_NOATIME},
       {"nodiratime", MS_NODIRATIME},
       {"relatime", MS_RELATIME}}};
  unsigned long flags = MS_NOSUID;
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    for (const auto& [name, flag] : known)
      if (option == name) flags |= flag;
    options.remove_prefix(std::min(options.size(), option.size() + 1));
  }
  return flags;
}

/// Every mount but automount points: those hold no files, and walking to one would wait for the
/// automounter.
Result<std::vector<MountPoint>> mount_points() {
  const Result<std::string> text = read_mountinfo();
  if (!text) return tl::unexpected(text.error());
  std::vector<MountPoint> mounts;
  for (const std::string_view line : split_lines(*text)) {
    const std::vector<std::string_view> fields = split_words(line);
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 1 >= fields.size())
      return fail(ErrorKind::malformed, "/proc/self/mountinfo", "has a line of another form");
    if (fields[dash + 1] == "autofs") continue;
    mounts.push_back({unescape(fields[4]), mount_flags(fields[5])});
  }
  return mounts;
}

/// A text as a file that only descriptors lead to.
Result<Fd> in_memory(const ShellFile& file) {
  Fd fd(::memfd_create("nvme-preflight", MFD_CLOEXEC));
  if (!fd) return fail_errno(errno, file.path, "make a file in memory");
  std::string_view left = file.text;
  while (!left.empty()) {
    const ssize_t put = ::write(fd.get(), left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno(errno, file.path, "fill a file in memory");
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  return fd;
}

// What follows runs between fork and exec: system calls only, no allocation. Each returns an errno.

int check(long result) {
  return result < 0 ? errno : 0;
}

int make_mounts_read_only(const std::vector<MountPoint>& mounts) {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  for (const MountPoint& mount : mounts) {
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | mount.flags;
    // A mount that nothing leads to any more cannot be written to either.
    if (::mount(nullptr, mount.path.c_str(), nullptr, flags, nullptr) != 0 && errno != ENOENT)
      return errno;
  }
  return 0;
}

/// Waits for the namespace's first process in its place, and ends as it ended.
[[noreturn]] void stand_in_for(pid_t child) {
  // The caller waits for the end of these; ours must not keep them open.
  struct rlimit files {};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 65536;
  for (int fd = 0, end = known ? static_cast<int>(files.rlim_cur) : 65536; fd < end; ++fd)
    ::close(fd);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/// All processes of the guest's script end with the first one.
int enter_process_namespace() {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child > 0) stand_in_for(child);
  return 0;
}

int limit(int resource, rlim_t value) {
  const struct rlimit both { value, value };
  return check(::setrlimit(static_cast<decltype(RLIMIT_CPU)>(resource), &both));
}

int limit_resources(std::chrono::seconds time_limit) {
  int error = limit(RLIMIT_FSIZE, 0);
  if (error == 0) error = limit(RLIMIT_CORE, 0);
  if (error == 0) error = limit(RLIMIT_CPU, static_cast<rlim_t>(time_limit.count()));
  if (error == 0) error = limit(RLIMIT_AS, rlim_t{512} << 20);
  if (error == 0) error = limit(RLIMIT_NPROC, 256);
  return error;
}

int drop_privileges() {
  // The raw calls: the C library's take locks that another thread may have held at the fork.
  int error = check(::syscall(SYS_setgroups, 0, nullptr));
  if (error == 0) error = check(::syscall(SYS_setresgid, nobody, nobody, nobody));
  if (error == 0) error = check(::syscall(SYS_setresuid, nobody, nobody, nobody));
  if (error == 0) error = check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  if (error == 0) error = check(::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
  return error;
}

int fence(const std::vector<MountPoint>& mounts, const std::vector<Fd>& kept,
          std::chrono::seconds time_limit) {
  for (const Fd& fd : kept)
    if (::fcntl(fd.get(), F_SETFD, 0) != 0) return errno;
  int error = check(::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID));
  if (error == 0) error = make_mounts_read_only(mounts);
  if (error == 0) error = enter_process_namespace();
  if (error == 0) error = check(::chdir("/"));
  if (error == 0) error = limit_resources(time_limit);
  if (error == 0) error = drop_privileges();
  return error;
}

// From here on in the parent again.

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The driver: what the files print goes to stderr, the values to stdout, each as '1' and the value
/// or '0', ended by NUL.
std::string driver(const std::vector<Fd>& texts, const std::vector<std::string>& names,
                   const std::map<std::string, std::string>& preset) {
  std::string script =
      "exec {nvme_preflight_out}>&1 1>&2\nnvme_preflight_print() {\n"
      "  local nvme_preflight_name\n  for nvme_preflight_name in";
  for (const std::string& name : names) script += ' ' + name;
  script +=
      "; do\n    if [[ -v $nvme_preflight_name ]]; then\n"
      "      printf '1%s\\0' \"${!nvme_preflight_name}\"\n"
      "    else\n      printf '0\\0'\n    fi\n  done >&\"$nvme_preflight_out\"\n}\n";
  for (const auto& [name, value] : preset) script += name + '=' + single_quoted(value) + '\n';
  for (const Fd& text : texts)
    script += fmt::format(". /proc/self/fd/{}\nnvme_preflight_print\n", text.get());
  return script + "exit 0\n";
}

/// Texts that look at who and where they are: inside the fence they would see something else.
Result<void> check_outlook(const ShellFile& file) {
  constexpr auto words = std::to_array<std::string_view>(
      {"EUID", "$UID", "{UID", "whoami", "id -", "$0", "{0", "BASH_SOURCE", "$kernel", "{kernel",
       "[ -r", "[ -w", "[ -x", "[ -O", "[ -G", "test -r", "test -w", "test -x", "nvme_preflight"});
  int number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    if (trim(line).starts_with("#")) continue;
    for (const std::string_view word : words)
      if (line.find(word) != std::string_view::npos)
        return fail(ErrorKind::unsupported, file.path,
                    fmt::format("what '{}' gives here depends on who runs it, so it cannot be "
                                "evaluated on trial",
                                word),
                    number);
  }
  return {};
}

/// What bash or a command complained of that would not have happened to root outside the fence.
bool was_hindered(std::string_view errors) {
  for (const std::string_view words :
       {"Permission denied", "Operation not permitted", "Read-only file system", "File too large",
        "File size limit", "cannot create temp file", "Cannot allocate memory",
        "Resource temporarily unavailable", "Network is unreachable", "cannot allocate"})
    if (errors.find(words) != std::string_view::npos) return true;
  return false;
}

std::string first_lines(std::string_view text) {
  return printable(trim(text.substr(0, text.find('\n', std::min<std::size_t>(text.size(), 200)))))
      .substr(0, 300);
}

Result<std::vector<ShellValues>> parse(const CommandOutput& output,
                                       const std::vector<ShellFile>& files,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> records;
  for (std::string_view rest = output.out; !rest.empty();) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) break;
    records.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  const std::size_t done = names.empty() ? files.size() : records.size() / names.size();
  if (done < files.size()) {
    const std::string why = output.timed_out
                                ? std::string("it took too long")
                                : fmt::format("bash ended here with status {}: {}",
                                              output.exit_status, first_lines(output.err));
    return fail(ErrorKind::unsupported, files[done].path, "cannot be evaluated by bash: " + why);
  }
  if (was_hindered(output.err))
    return fail(ErrorKind::unsupported, files.back().path,
                "bash evaluated the files, but some command in them needs more rights than it is "
                "given on trial: " +
                    first_lines(output.err));
  std::vector<ShellValues> all(files.size());
  for (std::size_t i = 0; i < files.size() * names.size(); ++i) {
    const std::string& record = records[i];
    std::optional<std::string> value;
    if (record.starts_with('1')) value = record.substr(1);
    all[i / names.size()][names[i % names.size()]] = std::move(value);
  }
  return all;
}

Result<CommandOutput> run_fenced(const std::string& script, const std::vector<Fd>& texts,
                                 std::chrono::seconds time_limit) {
  const Result<std::vector<MountPoint>> mounts = mount_points();
  if (!mounts) return tl::unexpected(mounts.error());
  Command command;
  command.argv = {"/bin/bash", "--noprofile", "--norc", "-p", "-c", script, "dracut"};
  command.environment = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  command.timeout = time_limit;
  command.output_cap = 8u << 20;
  command.in_child = [&] { return fence(*mounts, texts, time_limit); };
  return run(command);
}

}  // namespace

Result<std::vector<ShellValues>> source_in_bash(const std::vector<ShellFile>& files,
                                                const std::vector<std::string>& names,
                                                const std::map<std::string, std::string>& preset,
                                                std::chrono::seconds time_limit) {
  if (files.empty()) return std::vector<ShellValues>{};
  if (files.size() > file_cap)
    return fail(ErrorKind::unsupported, files[file_cap].path,
                fmt::format("more than {} files to evaluate", file_cap));
  std::vector<Fd> texts;
  for (const ShellFile& file : files) {
    if (Result<void> fine = check_outlook(file); !fine) return tl::unexpected(fine.error());
    Result<Fd> text = in_memory(file);
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
  }
  const Result<CommandOutput> output = run_fenced(driver(texts, names, preset), texts, time_limit);
  if (!output)
    return fail(ErrorKind::unsupported, files.front().path,
                "bash would have to evaluate it, and it cannot be run safely here: " +
                    output.error().message());
  return parse(*output, files, names);
}

}  // namespace preflight
