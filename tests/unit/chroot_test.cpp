// SPDX-License-Identifier: MIT
#include "agent/guest/chroot.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace preflight {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A guest that is nothing but a static busybox.
class ChrootTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "chroot and mounts need root";
    if (!fs::exists("/bin/busybox")) GTEST_SKIP() << "busybox-static is not installed";
    std::string pattern = (fs::temp_directory_path() / "chroot-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    for (const char* dir : {"bin", "proc", "sys", "dev", "etc"})
      fs::create_directories(base_ / dir);
    fs::copy_file("/bin/busybox", base_ / "bin/sh");
    const auto output = run_in_guest(guest(), shell("exit 0"), {}, nullptr);
    if (!output || output->exit_status != 0)
      GTEST_SKIP() << "no mount namespace here, or a busybox that is not static: "
                   << (output ? output->err : output.error().message());
  }
  void TearDown() override {
    if (!base_.empty()) fs::remove_all(base_);
  }

  Guest guest() {
    return Guest{Root::open(base_.string()).value(), base_.string(), false, true, {}};
  }

  static Command shell(const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.environment = {"PATH=/bin"};
    command.timeout = 20s;
    return command;
  }

  static bool alive(const std::string& pid) {
    const std::string state = slurp("/proc/" + pid + "/stat");
    return !state.empty() && state.find(") Z") == std::string::npos;
  }
  static bool dies_soon(const std::string& pid) {
    for (int i = 0; i < 100 && alive(pid); ++i) std::this_thread::sleep_for(20ms);
    return !alive(pid);
  }
  std::string pid_written_by_guest() {
    for (int i = 0; i < 200 && slurp(base_ / "etc/pid").find('\n') == std::string::npos; ++i)
      std::this_thread::sleep_for(20ms);
    const std::string text = slurp(base_ / "etc/pid");
    return text.substr(0, text.find('\n'));
  }

  fs::path base_;
};

TEST_F(ChrootTest, SeesTheGuestAndTheSystemTreesAndLeavesNoMount) {
  const std::string mounts = slurp("/proc/self/mountinfo");
  auto output = run_in_guest(
      guest(),
      shell("test -d /proc/1 && test -e /sys/kernel && test -c /dev/null && echo trees; "
            "test -e /usr || echo guest; echo changed > /etc/file; exit 7"),
      {}, nullptr);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "trees\nguest\n") << output->err;
  EXPECT_EQ(output->exit_status, 7);
  EXPECT_EQ(slurp(base_ / "etc/file"), "changed\n");
  EXPECT_EQ(slurp("/proc/self/mountinfo"), mounts);
  EXPECT_TRUE(fs::is_empty(base_ / "proc"));
}

TEST_F(ChrootTest, ShowsAnotherFileOnlyToTheProgram) {
  std::ofstream(base_ / "etc/a") << "old";
  std::ofstream(base_ / "etc/b") << "new";
  auto output =
      run_in_guest(guest(), shell("read x < /etc/a; echo $x"), {{"/etc/b", "/etc/a"}}, nullptr);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "new\n");
  EXPECT_EQ(slurp(base_ / "etc/a"), "old");
}

TEST_F(ChrootTest, AnEmptyDirectoryInMemoryEndsWithTheProgram) {
  std::ofstream(base_ / "etc/a") << "old";
  auto output =
      run_in_guest(guest(),
                   shell("set -- /etc/*; echo \"$*\"; echo new > /etc/a; echo x > /etc/b; "
                         "read x < /etc/a; echo $x"),
                   {{"", "/etc"}}, nullptr);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "/etc/*\nnew\n") << output->err;
  EXPECT_EQ(slurp(base_ / "etc/a"), "old");
  EXPECT_FALSE(fs::exists(base_ / "etc/b"));
}

TEST_F(ChrootTest, KeepsAFileAsItIs) {
  std::ofstream(base_ / "etc/a") << "old";
  auto output = run_in_guest(guest(),
                             shell("echo new > /etc/a; exec 2>/dev/null; "
                                   "for f in sh b; do echo x > /etc/$f; done; "
                                   "kill -0 $$ && : > /etc/b; exit 0"),
                             {kept_as_it_is("/etc/a")}, nullptr);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(slurp(base_ / "etc/a"), "old") << output->err;
  EXPECT_TRUE(fs::exists(base_ / "etc/b"));
}

TEST_F(ChrootTest, NeverMountsThroughASymlink) {
  fs::remove(base_ / "proc");
  fs::create_directory_symlink("/etc", base_ / "proc");
  auto output = run_in_guest(guest(), shell("exit 0"), {}, nullptr);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::wrong_type);
}

TEST_F(ChrootTest, NamesAMissingProgram) {
  Command command;
  command.argv = {"/no/dracut"};
  auto output = run_in_guest(guest(), command, {}, nullptr);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::missing);
}

TEST_F(ChrootTest, AStopEndsEverythingItStarted) {
  std::atomic<bool> stop{false};
  std::thread later([&] {
    pid_written_by_guest();
    stop = true;
  });
  const auto start = std::chrono::steady_clock::now();
  auto output = run_in_guest(
      guest(), shell("(while :; do :; done) & echo $! > /etc/pid; while :; do :; done"), {},
      [&] { return stop.load(); });
  later.join();
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->exit_status, 128 + SIGKILL);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
  EXPECT_TRUE(dies_soon(pid_written_by_guest()));
}

TEST_F(ChrootTest, TheProgramDiesWithTheTool) {
  const pid_t tool = ::fork();
  if (tool == 0) {
    (void)run_in_guest(guest(), shell("echo $$ > /etc/pid; while :; do :; done"), {}, nullptr);
    ::_exit(0);
  }
  const std::string pid = pid_written_by_guest();
  EXPECT_TRUE(alive(pid));
  ::kill(tool, SIGKILL);
  ::waitpid(tool, nullptr, 0);
  EXPECT_TRUE(dies_soon(pid));
}

}  // namespace
}  // namespace preflight
