// SPDX-License-Identifier: MIT
#include "agent/transaction/transaction.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "agent/formats/text.h"
#include "agent/guest/lock.h"
#include "agent/transaction/staging.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;
using State = FixOutcome::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Everything about a tree that an undo has to bring back, by path; the runs' folder left out.
/// Directories without their times.
std::map<std::string, std::string> picture(const fs::path& base, bool with_runs = false) {
  std::map<std::string, std::string> out;
  for (auto entry = fs::recursive_directory_iterator(base); entry != fs::end(entry); ++entry) {
    const std::string name = entry->path().lexically_relative(base).string();
    if (!with_runs && name == "var/lib/nvme-preflight") {
      entry.disable_recursion_pending();
      continue;
    }
    struct stat status {};
    ::lstat(entry->path().c_str(), &status);
    std::string text = fmt::format("{:o} {}:{}", status.st_mode, status.st_uid, status.st_gid);
    if (S_ISREG(status.st_mode)) {
      char value[100];
      const ssize_t length = ::getxattr(entry->path().c_str(), "user.note", value, sizeof value);
      text += fmt::format(" {}.{:09} [{}] {}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                          std::string(value, length > 0 ? static_cast<std::size_t>(length) : 0),
                          slurp(entry->path()));
    }
    if (S_ISLNK(status.st_mode)) text += " -> " + fs::read_symlink(entry->path()).string();
    out[name] = text;
  }
  return out;
}

const std::string kernel = "5.14.0-500.el9.x86_64";
const std::string image = "/boot/initramfs-" + kernel + ".img";

class TransactionTest : public testing::Test {
 protected:
  void SetUp() override {
    // In memory where possible: every step of a run waits for the disk.
    const fs::path parent =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path();
    std::string pattern = (parent / "transaction-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    for (const char* dir : {"proc", "sys", "dev", "var/lib", "usr/bin"})
      fs::create_directories(base_ / dir);
    spill(base_ / "usr/bin/dracut", "#!/bin/sh\n");
    fs::permissions(base_ / "usr/bin/dracut", fs::perms{0755});
    spill(base_ / "etc/lvm/lvm.conf", "devices {\n\tuse_devicesfile = 1\n}\n");
    fs::permissions(base_ / "etc/lvm/lvm.conf", fs::perms{0640});
    spill(base_ / image.substr(1), std::string(300000, 'o'));
    fs::permissions(base_ / image.substr(1), fs::perms{0600});
    spill(base_ / "etc/lvm/devices/system.devices", "IDTYPE=sys_serial\n");
    ::setxattr((base_ / "etc/lvm/lvm.conf").c_str(), "user.note", "kept", 4, 0);
    for (const char* path : {"etc/lvm/lvm.conf", "boot"}) {
      const timespec times[2] = {{1000000, 123456789}, {1000001, 987654321}};
      ::utimensat(AT_FDCWD, (base_ / path).c_str(), times, 0);
    }
    original_ = picture(base_);
  }
  void TearDown() override { fs::remove_all(base_); }

  Guest guest() const {
    return Guest{Root::open(base_.string()).value(), base_.string(), false, ::geteuid() == 0, {}};
  }

  /// Ports with a stand-in for dracut: it writes `built_` to the path it is given.
  TransactionPorts ports() {
    TransactionPorts ports;
    ports.run_dracut = [this](const Command& command, const std::vector<Overlay>& overlays,
                              const StopAsked&) -> Result<CommandOutput> {
      commands_.push_back(command.argv);
      overlays_ = overlays;
      for (std::size_t i = 0; i + 1 < command.argv.size(); ++i)
        if (command.argv[i] == "--confdir")
          confdir_ = picture(base_ / command.argv[i + 1].substr(1));
      if (during_build_) during_build_();
      if (!built_.empty()) spill(base_ / command.argv[command.argv.size() - 2].substr(1), built_);
      CommandOutput output;
      output.exit_status = dracut_status_;
      output.err = "dracut: first\ndracut: \x1b[31mlast\n";
      return output;
    };
    ports.read_image = [this](const std::string& path) -> Result<Image> {
      Image read;
      const std::string text = slurp(base_ / path.substr(1));
      if (text.starts_with("bad")) read.damage = Error{ErrorKind::malformed, path, 0, "cut"};
      return read;
    };
    ports.verify = [](const Image*, const Image& fresh, const BuildImage&) {
      return fresh.damage ? std::vector<std::string>{"nvme.ko is missing"}
                          : std::vector<std::string>{};
    };
    ports.recheck = [this] {
      if (during_recheck_) during_recheck_();
      return reasons_;
    };
    ports.now = [] { return std::time_t{1796072400}; };
    ports.progress = {};
    ports.jobs = 1;
    ports.space = [this](int directory, const std::string& path) -> Result<Space> {
      Result<Space> space = space_at(directory, path);
      if (space && free_bytes_) space->free_bytes = *free_bytes_;
      if (space && free_inodes_) space->free_inodes = *free_inodes_;
      return space;
    };
    ports.stop = &stop_;
    ports.keep_runs = keep_runs_;
    ports.smaller_images = smaller_images_;
    return ports;
  }

  std::vector<Step> steps() {
    EditFile lvm{"/etc/lvm/lvm.conf", slurp(base_ / "etc/lvm/lvm.conf"),
                 "devices {\n\tuse_devicesfile = 0\n}\n"};
    EditFile drop_in{"/etc/dracut.conf.d/zz-nvme-preflight.conf", std::nullopt, "hostonly=\"no\"\n",
                     0644};
    return {lvm, drop_in, BuildImage{image, kernel}};
  }

  FixOutcome apply_all() { return apply(guest(), steps(), ports()); }

  FixOutcome apply_image() { return apply(guest(), {BuildImage{image, kernel}}, ports()); }

  fs::path run_dir(const std::string& run) const { return base_ / "var/lib/nvme-preflight" / run; }
  fs::path file(const std::string& path) const { return base_ / path.substr(1); }

  /// The tree is what it was, to the last trace of the tool.
  void expect_untouched() { EXPECT_EQ(picture(base_, true), original_); }

  /// The guest is what it was; the run's folder holds its journal and what dracut said.
  void expect_only_a_log(const std::string& run) {
    EXPECT_EQ(picture(base_), original_);
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(run_dir(run)))
      names.push_back(entry.path().filename());
    EXPECT_THAT(names, UnorderedElementsAre("journal", "log", "dracut-0.log"));
    EXPECT_THAT(slurp(run_dir(run) / "dracut-0.log"), HasSubstr("dracut: \\x1b[31mlast\n"));
    EXPECT_EQ(list_runs(guest().root).value().back().state, RunInfo::State::undone);
  }

  fs::path base_;
  std::map<std::string, std::string> original_;
  std::string built_ = std::string(400000, 'n');
  int dracut_status_ = 0;
  std::vector<std::string> reasons_;
  std::optional<std::uint64_t> free_bytes_, free_inodes_;
  std::size_t keep_runs_ = 5;
  std::string smaller_images_;
  std::atomic<bool> stop_{false};
  std::function<void()> during_build_, during_recheck_;
  std::vector<std::vector<std::string>> commands_;
  std::vector<Overlay> overlays_;
  std::map<std::string, std::string> confdir_;
};

TEST_F(TransactionTest, AppliesAndUndoesToTheLastBit) {
  const FixOutcome fixed = apply_all();
  ASSERT_EQ(fixed.state, State::applied) << fixed.message;
  EXPECT_EQ(fixed.exit_code, 0);
  EXPECT_EQ(fixed.run, "20261130T210000Z-1");
  EXPECT_THAT(fixed.changed,
              ElementsAre("/etc/lvm/lvm.conf", "/etc/dracut.conf.d/zz-nvme-preflight.conf", image));
  EXPECT_EQ(slurp(file("/etc/lvm/lvm.conf")), "devices {\n\tuse_devicesfile = 0\n}\n");
  EXPECT_EQ(slurp(file(image)), built_);
  struct stat status {};
  ::stat(file("/etc/lvm/lvm.conf").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777u, 0640u);
  ::stat(run_dir(fixed.run).c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
  EXPECT_FALSE(fs::exists(run_dir(fixed.run) / "staging"));
  EXPECT_FALSE(fs::exists(base_ / "var/lib/nvme-preflight/lock"));
  EXPECT_EQ(slurp(run_dir(fixed.run) / "backup-0"), "devices {\n\tuse_devicesfile = 1\n}\n");

  const FixOutcome undone = undo(guest(), std::nullopt, ports());
  ASSERT_EQ(undone.state, State::undone) << undone.message;
  EXPECT_EQ(undone.exit_code, 0);
  EXPECT_EQ(picture(base_), original_);
  EXPECT_EQ(undo(guest(), std::nullopt, ports()).state, State::nothing_to_do);
  EXPECT_EQ(undo(guest(), fixed.run, ports()).state, State::nothing_to_do);
}

TEST_F(TransactionTest, DracutSeesThePlannedEditsAndNothingIsChangedMeanwhile) {
  spill(base_ / "etc/dracut.conf.d/10-own.conf", "x=1\n");
  fs::create_symlink("/dev/null", base_ / "etc/dracut.conf.d/20-mask.conf");
  fs::create_symlink("nowhere", base_ / "etc/dracut.conf.d/30-dangling.conf");
  spill(base_ / "etc/dracut.conf.d/README", "no");
  fs::remove(base_ / "dev");
  fs::create_directories(base_ / "dev");
  std::map<std::string, std::string> meanwhile;
  const auto before = picture(base_);
  during_build_ = [&] { meanwhile = picture(base_); };
  const FixOutcome fixed = apply_all();
  ASSERT_EQ(fixed.state, State::applied) << fixed.message;
  EXPECT_EQ(meanwhile, before);
  const std::string staging = "/var/lib/nvme-preflight/20261130T210000Z-1/staging";
  ASSERT_EQ(commands_.size(), 1u);
  EXPECT_THAT(commands_[0],
              ElementsAre("/usr/bin/dracut", "--force", "--confdir", staging + "/dracut.conf.d",
                          "--tmpdir", staging + "/tmp-0", staging + "/image-0.img", kernel));
  std::vector<std::string> names;
  for (const auto& [name, text] : confdir_) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("10-own.conf", "zz-nvme-preflight.conf"));
  ASSERT_EQ(overlays_.size(), 3u);
  EXPECT_EQ(overlays_[0].over, "/etc/lvm/lvm.conf");
  EXPECT_EQ(overlays_[1].over, image);
  EXPECT_EQ(overlays_[1].shown, image);
  EXPECT_EQ(overlays_[2].over, "/etc/lvm/devices");
}

TEST(DracutCommandTest, RescueImagesAreGeneric) {
  EXPECT_THAT(dracut_command("/sbin/dracut", {"/boot/r.img", "K", true}, "", "/t", "/s/r.img"),
              ElementsAre("/sbin/dracut", "--force", "--tmpdir", "/t", "--no-hostonly", "--add",
                          "rescue", "/s/r.img", "K"));
}

TEST_F(TransactionTest, ImagesAreBuiltSideBySideAndTheFirstThatFailsStopsTheOthers) {
  const std::string second = "/boot/initramfs-0-rescue.img";
  spill(base_ / second.substr(1), "old");
  original_ = picture(base_);
  std::barrier both_run(2);
  std::atomic<int> stopped{0};
  TransactionPorts side_by_side = ports();
  side_by_side.jobs = 2;
  side_by_side.run_dracut = [&](const Command& command, const std::vector<Overlay>&,
                                const StopAsked& stop_asked) -> Result<CommandOutput> {
    both_run.arrive_and_wait();
    CommandOutput output;
    output.err = "said by " + command.argv.back() + "\n";
    if (command.argv.back() == "rescue-kernel") {
      output.exit_status = 3;
      return output;
    }
    while (!stop_asked()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++stopped;
    output.exit_status = 137;
    return output;
  };
  const FixOutcome outcome = apply(
      guest(), {BuildImage{image, kernel}, BuildImage{second, "rescue-kernel"}}, side_by_side);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(stopped, 1);
  EXPECT_THAT(outcome.message, HasSubstr(second + ": dracut failed with exit status 3"));
  EXPECT_THAT(outcome.message, HasSubstr("said by rescue-kernel"));
  EXPECT_EQ(picture(base_), original_);
  EXPECT_THAT(slurp(run_dir(outcome.run) / "dracut-0.log"), HasSubstr("said by " + kernel));
  EXPECT_THAT(slurp(run_dir(outcome.run) / "dracut-1.log"), HasSubstr("said by rescue-kernel"));
  EXPECT_FALSE(fs::exists(run_dir(outcome.run) / "staging"));
}

TEST_F(TransactionTest, TheRunsFolderHoldsItsLog) {
  const FixOutcome fixed = apply_all();
  ASSERT_EQ(fixed.state, State::applied) << fixed.message;
  ASSERT_EQ(undo(guest(), std::nullopt, ports()).state, State::undone);
  const std::string log = slurp(run_dir(fixed.run) / "log");
  std::vector<std::string> said;
  for (const std::string_view line : split_lines(log)) {
    EXPECT_EQ(line.substr(0, 21), "2026-11-30T21:00:00Z ");
    said.emplace_back(line.substr(21));
  }
  EXPECT_THAT(said, testing::IsSupersetOf(std::vector<std::string>{
                        "building " + image + " (1 of 1) for kernel " + kernel,
                        "building " + image + " (1 of 1) for kernel " + kernel + ": 0.4 MB",
                        "installing " + image + ": done", "checking again, from the beginning",
                        "Everything that run " + fixed.run + " changed is what it was before."}));
  EXPECT_THAT(log, HasSubstr("applied: Fixed and checked again."));
  struct stat status {};
  ::stat((run_dir(fixed.run) / "log").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
}

TEST_F(TransactionTest, NothingToDoLeavesNoTrace) {
  EXPECT_EQ(apply(guest(), {}, ports()).state, State::nothing_to_do);
  const EditFile same{"/etc/lvm/lvm.conf", "x", "x"};
  EXPECT_EQ(apply(guest(), {same}, ports()).state, State::nothing_to_do);
  expect_untouched();
}

TEST_F(TransactionTest, TooLittleSpaceIsRefusedWithNumbersAndWithoutATrace) {
  free_bytes_ = 200000;
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.state, State::refused);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.message, HasSubstr("/boot has 0.2 MB free"));
  EXPECT_THAT(outcome.message, HasSubstr("0.3 MB"));
  EXPECT_TRUE(commands_.empty());
  expect_untouched();
}

TEST_F(TransactionTest, TooFewInodesAreRefusedWithNumbersAndWithoutATrace) {
  free_inodes_ = 2;
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.message, HasSubstr("/boot has 2 free inodes, "));
  EXPECT_THAT(outcome.message, HasSubstr("removing an old kernel"));
  expect_untouched();
}

TEST_F(TransactionTest, SmallerImagesAreAWayOutOnlyWhereThereIsSuchAWay) {
  free_bytes_ = 200000;
  EXPECT_THAT(apply_all().message, testing::Not(HasSubstr("; or ")));
  smaller_images_ = "use smaller ones";
  EXPECT_THAT(apply_all().message, HasSubstr("run --fix again; or use smaller ones"));
  const std::vector<Step> edit_only{steps()[0]};
  EXPECT_THAT(apply(guest(), edit_only, ports()).message, testing::Not(HasSubstr("; or ")));
  expect_untouched();
}

TEST_F(TransactionTest, TheBackupsOfTheNewestRunsAreKept) {
  keep_runs_ = 2;
  const std::string first = apply_image().run;
  const std::string second = apply_image().run;
  ASSERT_NE(first, second);
  const FixOutcome third = apply_image();
  EXPECT_THAT(third.message, HasSubstr("The backups of run " + first + " are removed"));
  EXPECT_FALSE(fs::exists(run_dir(first)));
  EXPECT_TRUE(fs::exists(run_dir(second) / "backup-0"));
  EXPECT_EQ(undo(guest(), third.run, ports()).exit_code, 0);
}

TEST_F(TransactionTest, ARunThatFailsRemovesNoBackup) {
  keep_runs_ = 1;
  const std::string first = apply_image().run;
  reasons_ = {"still not ready"};
  EXPECT_EQ(apply_image().exit_code, 5);
  EXPECT_TRUE(fs::exists(run_dir(first) / "backup-0"));
  dracut_status_ = 1;
  EXPECT_EQ(apply_image().exit_code, 5);
  EXPECT_EQ(apply_image().exit_code, 5);
  EXPECT_TRUE(fs::exists(run_dir(first) / "backup-0"));
  // Of dracut's logs only the newest, and what the failed run was about.
  EXPECT_THAT(list_runs(guest().root).value(), testing::SizeIs(3));
}

TEST_F(TransactionTest, AnUndoneRunTakesNoPlaceOfAnAppliedOne) {
  keep_runs_ = 1;
  const std::string undone = apply_image().run;
  ASSERT_EQ(undo(guest(), undone, ports()).exit_code, 0);
  const std::string applied = apply_image().run;
  EXPECT_TRUE(fs::exists(run_dir(undone)));
  ASSERT_EQ(undo(guest(), applied, ports()).exit_code, 0);
  EXPECT_EQ(apply_image().exit_code, 0);
  EXPECT_FALSE(fs::exists(run_dir(undone)));
  EXPECT_TRUE(fs::exists(run_dir(applied)));
}

TEST_F(TransactionTest, TheBuiltImagesRealSizeIsCheckedAgain) {
  during_build_ = [this] { free_bytes_ = 350000; };
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.message, HasSubstr("the new image is 0.4 MB"));
  expect_untouched();
}

TEST_F(TransactionTest, AnUnfitImageChangesNothing) {
  built_ = "bad";
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.state, State::undone);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.message, HasSubstr("nvme.ko is missing"));
  EXPECT_THAT(outcome.message, HasSubstr("dracut: \\x1b[31mlast"));
  expect_only_a_log(outcome.run);
}

TEST_F(TransactionTest, AFailedOrSilentDracutChangesNothing) {
  dracut_status_ = 1;
  const FixOutcome failed = apply_all();
  EXPECT_EQ(failed.exit_code, 5);
  expect_only_a_log(failed.run);
  dracut_status_ = 0;
  built_.clear();
  const FixOutcome silent = apply_all();
  EXPECT_THAT(silent.message, HasSubstr("wrote no image"));
  expect_only_a_log(silent.run);
  EXPECT_EQ(undo(guest(), std::nullopt, ports()).state, State::nothing_to_do);
}

TEST_F(TransactionTest, AGuestThatIsStillNotReadyIsPutBack) {
  reasons_ = {"initramfs.driver: nvme is missing"};
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.state, State::undone);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.message, HasSubstr("initramfs.driver: nvme is missing"));
  EXPECT_EQ(picture(base_), original_);
}

TEST_F(TransactionTest, ASignalPutsEverythingBack) {
  during_recheck_ = [this] { stop_ = true; };
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.message, HasSubstr("stopped by a signal"));
  EXPECT_EQ(picture(base_), original_);
  EXPECT_EQ(list_runs(guest().root).value().at(0).state, RunInfo::State::undone);
}

TEST_F(TransactionTest, ASignalDuringTheBuildLeavesNoTrace) {
  during_build_ = [this] { stop_ = true; };
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.message, HasSubstr("stopped by a signal"));
  expect_untouched();
}

TEST_F(TransactionTest, WhatChangedSinceThePlanIsRefused) {
  const std::vector<Step> planned = steps();
  spill(base_ / "etc/lvm/lvm.conf", "other\n");
  const auto before = picture(base_);
  const FixOutcome outcome = apply(guest(), planned, ports());
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.message, HasSubstr("/etc/lvm/lvm.conf: has changed since"));
  EXPECT_EQ(picture(base_, true), before);
}

TEST_F(TransactionTest, WhatChangesDuringTheBuildIsRefused) {
  during_build_ = [this] { spill(base_ / image.substr(1), "a new kernel package"); };
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(slurp(file(image)), "a new kernel package");
  EXPECT_FALSE(fs::exists(base_ / "var/lib/nvme-preflight"));
  EXPECT_FALSE(fs::exists(base_ / "etc/dracut.conf.d"));
}

TEST_F(TransactionTest, OddTargetsAreRefused) {
  const auto refuses = [&](const Step& step) {
    const FixOutcome outcome = apply(guest(), {step}, ports());
    EXPECT_EQ(outcome.exit_code, 4) << outcome.message;
    return outcome.message;
  };
  fs::create_directories(base_ / "etc/directory");
  EXPECT_THAT(refuses(EditFile{"/etc/directory", "", "x"}), HasSubstr("not a regular file"));
  EXPECT_THAT(refuses(EditFile{"/etc/lvm/lvm.conf", std::nullopt, "x"}), HasSubstr("appeared"));
  EXPECT_THAT(refuses(EditFile{"/etc/gone", "was", "x"}), HasSubstr("gone"));
  EXPECT_THAT(refuses(EditFile{"etc/lvm/lvm.conf", "was", "x"}), HasSubstr("no path"));
  EXPECT_THAT(refuses(EditFile{"/etc/a\nb", std::nullopt, "x"}), HasSubstr("no path"));
  EXPECT_THAT(refuses(BuildImage{image, "--help"}), HasSubstr("no plain name"));
  fs::create_hard_link(base_ / "etc/lvm/lvm.conf", base_ / "etc/other");
  EXPECT_THAT(refuses(std::get<EditFile>(steps()[0])), HasSubstr("hard link"));
  fs::remove(base_ / "usr/bin/dracut");
  EXPECT_THAT(refuses(BuildImage{image, kernel}), HasSubstr("no dracut"));
}

TEST_F(TransactionTest, ALinkStaysAndItsTargetIsEdited) {
  fs::rename(base_ / "etc/lvm/lvm.conf", base_ / "etc/real.conf");
  fs::create_symlink("/etc/real.conf", base_ / "etc/lvm/lvm.conf");
  const auto before = picture(base_);
  EditFile edit{"/etc/lvm/lvm.conf", slurp(base_ / "etc/real.conf"), "new\n"};
  ASSERT_EQ(apply(guest(), {edit}, ports()).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(base_ / "etc/lvm/lvm.conf"));
  EXPECT_EQ(slurp(base_ / "etc/real.conf"), "new\n");
  EXPECT_EQ(undo(guest(), std::nullopt, ports()).exit_code, 0);
  EXPECT_EQ(picture(base_), before);
}

TEST_F(TransactionTest, ConflictingEditsAreRefused) {
  const std::string before = slurp(base_ / "etc/lvm/lvm.conf");
  const EditFile one{"/etc/lvm/lvm.conf", before, "1"};
  const EditFile two{"/etc/lvm/lvm.conf", before, "2"};
  EXPECT_EQ(apply(guest(), {one, two}, ports()).exit_code, 4);
  EXPECT_EQ(apply(guest(), {one, one}, ports()).exit_code, 0);
}

TEST_F(TransactionTest, UndoRefusesWhatSomebodyChangedSince) {
  ASSERT_EQ(apply_all().exit_code, 0);
  spill(base_ / image.substr(1), "built by somebody else");
  const auto before = picture(base_, true);
  const FixOutcome outcome = undo(guest(), std::nullopt, ports());
  EXPECT_EQ(outcome.state, State::refused);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.message, HasSubstr(image + ": has changed since"));
  EXPECT_EQ(picture(base_, true), before);
  EXPECT_EQ(list_runs(guest().root).value().at(0).state, RunInfo::State::applied);
}

TEST_F(TransactionTest, ForceKeepsWhatSomebodyMadeOfItSince) {
  const std::string run = apply_all().run;
  spill(file("/etc/lvm/lvm.conf"), "by hand\n");
  EXPECT_EQ(undo(guest(), std::nullopt, ports()).exit_code, 4);
  const FixOutcome outcome = undo(guest(), std::nullopt, ports(), Force::yes);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
  EXPECT_EQ(picture(base_), original_);
  EXPECT_EQ(slurp(run_dir(run) / "before-undo-0"), "by hand\n");
}

TEST_F(TransactionTest, ForceLeavesOnlyTheFileWithoutABackup) {
  const std::string run = apply_all().run;
  fs::remove(run_dir(run) / "backup-0");
  const FixOutcome outcome = undo(guest(), std::nullopt, ports(), Force::yes);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.message, HasSubstr("this backup of /etc/lvm/lvm.conf is gone"));
  EXPECT_EQ(slurp(file("/etc/lvm/lvm.conf")), "devices {\n\tuse_devicesfile = 0\n}\n");
  EXPECT_NE(slurp(file(image)), built_);
  EXPECT_EQ(find_unfinished_run(guest().root).value(), std::nullopt);
}

TEST_F(TransactionTest, AnImageThatWentWithItsKernelStaysAway) {
  ASSERT_EQ(apply_all().exit_code, 0);
  fs::remove(file(image));
  spill(base_ / "boot" / ("vmlinuz-" + kernel), "MZ");
  EXPECT_EQ(undo(guest(), std::nullopt, ports()).exit_code, 4);
  fs::remove(base_ / "boot" / ("vmlinuz-" + kernel));
  EXPECT_EQ(undo(guest(), std::nullopt, ports()).exit_code, 0);
  EXPECT_FALSE(fs::exists(file(image)));
}

TEST_F(TransactionTest, WhatAnotherProgramPlacedBeforeTheRunWasCommittedIsSeen) {
  during_recheck_ = [this] { spill(file(image), "a package manager's image"); };
  const FixOutcome outcome = apply_all();
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.message, HasSubstr(image + ": was changed by another program"));
  EXPECT_EQ(slurp(file(image)), "a package manager's image");
  EXPECT_EQ(slurp(file("/etc/lvm/lvm.conf")), "devices {\n\tuse_devicesfile = 1\n}\n");
  EXPECT_THAT(unfinished_notice(guest()), HasSubstr(outcome.run + " was interrupted"));
  EXPECT_EQ(undo(guest(), std::nullopt, ports(), Force::yes).exit_code, 0);
  EXPECT_EQ(picture(base_), original_);
}

TEST_F(TransactionTest, TheNoticeSaysThatARunIsAtWork) {
  EXPECT_EQ(unfinished_notice(guest()), "");
  std::string meanwhile;
  during_build_ = [&] { meanwhile = unfinished_notice(guest()); };
  ASSERT_EQ(apply_all().exit_code, 0);
  EXPECT_THAT(meanwhile, HasSubstr(fmt::format("nvme-preflight --fix, pid {}", ::getpid())));
  EXPECT_EQ(unfinished_notice(guest()), "");
}

TEST_F(TransactionTest, UndoRefusesASpoiltBackup) {
  const std::string run = apply_all().run;
  spill(run_dir(run) / "backup-0", "spoilt");
  const FixOutcome outcome = undo(guest(), std::nullopt, ports());
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.message, HasSubstr("backup-0"));
}

TEST_F(TransactionTest, UndoKnowsThatLvmRenamesItsDevicesFile) {
  ASSERT_EQ(apply_all().exit_code, 0);
  const fs::path devices = base_ / "etc/lvm/devices";
  spill(devices / "system.devices-unused.20250101.000000", "IDTYPE=older\n");
  fs::rename(devices / "system.devices", devices / "system.devices-unused.20261130.220000");
  ASSERT_EQ(undo(guest(), std::nullopt, ports()).exit_code, 0);
  fs::remove(devices / "system.devices-unused.20250101.000000");
  EXPECT_EQ(picture(base_), original_);
}

TEST_F(TransactionTest, UndoLeavesAForeignDevicesFileAlone) {
  ASSERT_EQ(apply_all().exit_code, 0);
  const fs::path devices = base_ / "etc/lvm/devices";
  fs::remove(devices / "system.devices");
  spill(devices / "system.devices-unused.20261130.220000", "IDTYPE=other\n");
  const FixOutcome outcome = undo(guest(), std::nullopt, ports());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.message, HasSubstr("left alone"));
  EXPECT_FALSE(fs::exists(devices / "system.devices"));
}

TEST_F(TransactionTest, ADirectoryThatOthersUseStays) {
  ASSERT_EQ(apply_all().exit_code, 0);
  spill(base_ / "etc/dracut.conf.d/theirs.conf", "x");
  const FixOutcome outcome = undo(guest(), std::nullopt, ports());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(fs::exists(base_ / "etc/dracut.conf.d/theirs.conf"));
  EXPECT_FALSE(fs::exists(base_ / "etc/dracut.conf.d/zz-nvme-preflight.conf"));
}

TEST_F(TransactionTest, ASecondRunIsRefusedNamingTheHolder) {
  FixOutcome second;
  during_build_ = [&] {
    during_build_ = nullptr;
    second = apply_all();
  };
  ASSERT_EQ(apply_all().exit_code, 0);
  EXPECT_EQ(second.exit_code, 4);
  EXPECT_THAT(second.message, HasSubstr(fmt::format("pid {}", ::getpid())));
}

TEST_F(TransactionTest, ListsRuns) {
  EXPECT_THAT(list_runs(guest().root).value(), IsEmpty());
  ASSERT_EQ(apply_all().exit_code, 0);
  const auto runs = list_runs(guest().root).value();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].state, RunInfo::State::applied);
  EXPECT_EQ(runs[0].time, "2026-11-30T21:00:00Z");
  EXPECT_EQ(runs[0].changed.size(), 3u);
}

TEST_F(TransactionTest, WhatFilesWereBeforeTheRunsInForceIsKnown) {
  const std::string before = slurp(base_ / "etc/lvm/lvm.conf");
  const auto texts = [this] {
    return texts_before_runs(guest().root, {"/etc/lvm/lvm.conf", "/etc/lvm/lvmlocal.conf"});
  };
  EXPECT_THAT(texts(), IsEmpty());
  const std::string run = apply_all().run;
  ASSERT_NE(slurp(base_ / "etc/lvm/lvm.conf"), before);
  EXPECT_THAT(texts(), ElementsAre(testing::Pair("/etc/lvm/lvm.conf", before)));
  const std::string now = slurp(base_ / "etc/lvm/lvm.conf");
  const std::vector<Step> more{EditFile{"/etc/lvm/lvm.conf", now, now + "# more\n"}};
  const std::string second = apply(guest(), more, ports()).run;
  ASSERT_EQ(slurp(base_ / "etc/lvm/lvm.conf"), now + "# more\n");
  EXPECT_THAT(texts(), ElementsAre(testing::Pair("/etc/lvm/lvm.conf", before))) << "the oldest run";
  ASSERT_EQ(undo(guest(), second, ports()).exit_code, 0);
  ASSERT_EQ(undo(guest(), run, ports()).exit_code, 0);
  EXPECT_THAT(texts(), IsEmpty()) << "an undone run is not in force";
}

TEST_F(TransactionTest, ADamagedJournalStopsEverythingAndIsNamed) {
  const std::string run = apply_all().run;
  std::string text = slurp(run_dir(run) / "journal");
  text.replace(text.find('\n') + 1, 1, "[");
  spill(run_dir(run) / "journal", text);
  const auto before = picture(base_, true);
  for (const FixOutcome& outcome :
       {apply(guest(), {EditFile{"/etc/new", std::nullopt, "x"}}, ports()),
        undo(guest(), std::nullopt, ports()), undo(guest(), run, ports()),
        recover(guest(), ports())}) {
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_THAT(outcome.message, HasSubstr(run + "/journal:2: "));
  }
  EXPECT_EQ(picture(base_, true), before);
  EXPECT_EQ(list_runs(guest().root).value().at(0).state, RunInfo::State::damaged);
}

TEST_F(TransactionTest, AMissingJournalWithBackupsIsNotThrownAway) {
  const std::string run = apply_all().run;
  fs::remove(run_dir(run) / "journal");
  EXPECT_EQ(undo(guest(), run, ports()).exit_code, 4);
  EXPECT_TRUE(fs::exists(run_dir(run) / "backup-0"));
}

TEST_F(TransactionTest, UnknownRunsAreRefused) {
  EXPECT_EQ(undo(guest(), "20200101T000000Z-1", ports()).exit_code, 4);
  EXPECT_EQ(undo(guest(), "../../etc", ports()).exit_code, 4);
  expect_untouched();
}

TEST_F(TransactionTest, AnInterruptedRunIsPutBackBeforeAnythingElse) {
  const pid_t child = ::fork();
  if (child == 0) {
    during_recheck_ = [] { ::raise(SIGKILL); };
    apply_all();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(picture(base_), original_);
  EXPECT_EQ(apply_all().exit_code, 4);
  EXPECT_EQ(find_unfinished_run(guest().root).value(), "20261130T210000Z-1");
  const FixOutcome outcome = recover(guest(), ports());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
  EXPECT_EQ(picture(base_), original_);
  EXPECT_EQ(recover(guest(), ports()).state, State::nothing_to_do);
  EXPECT_EQ(apply_all().exit_code, 0);
}

/// Killed at random instants of the fix and of the undo that follows.
TEST_F(TransactionTest, KilledAtAnyInstantEverythingComesBack) {
  const std::string old_image = slurp(file(image));
  const std::string old_config = slurp(file("/etc/lvm/lvm.conf"));
  const auto whole = [&] {
    const std::string now = slurp(file(image));
    EXPECT_TRUE(now == old_image || now == built_);
    const std::string config = slurp(file("/etc/lvm/lvm.conf"));
    EXPECT_TRUE(config == old_config || config == "devices {\n\tuse_devicesfile = 0\n}\n");
  };
  const auto kill_after = [](useconds_t microseconds, const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    ::usleep(microseconds);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  };
  const auto steps_then = steps();
  const auto start = std::chrono::steady_clock::now();
  apply(guest(), steps_then, ports());
  undo(guest(), std::nullopt, ports());
  const auto once = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  fs::remove_all(base_ / "var/lib/nvme-preflight");
  constexpr unsigned rounds = 50;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto when = static_cast<useconds_t>(once.count() * round / rounds);
    kill_after(when, [&] { apply(guest(), steps_then, ports()); });
    whole();
    kill_after(when / 2, [&] { undo(guest(), std::nullopt, ports()); });
    whole();
    const FixOutcome outcome = undo(guest(), std::nullopt, ports());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
    EXPECT_EQ(picture(base_), original_) << "round " << round;
    fs::remove_all(base_ / "var/lib/nvme-preflight");
  }
}

TEST(DescribePlanTest, IsExactAndSafe) {
  const std::vector<Step> steps{
      EditFile{"/etc/lvm/lvm.conf", "devices {\n\ta = 1\n}\n", "devices {\n\ta = 0 # \x1b[2J\n}\n"},
      EditFile{"/etc/new", std::nullopt, "x\n", 0600}, BuildImage{"/boot/i.img", "K", true}};
  EXPECT_EQ(
      describe_plan(steps, ShownEdits::with_context),
      "edit /etc/lvm/lvm.conf\n--- /etc/lvm/lvm.conf\n+++ /etc/lvm/lvm.conf\n@@ -1,3 +1,3 @@\n"
      " devices {\n-\ta = 1\n+\ta = 0 # \\x1b[2J\n }\n"
      "create /etc/new (mode 0600)\n--- /dev/null\n+++ /etc/new\n@@ -0,0 +1 @@\n+x\n"
      "build /boot/i.img anew with dracut for kernel K (rescue image), verify it, put it in "
      "its place\n");
  EXPECT_THAT(describe_plan(steps, ShownEdits::none), testing::Not(HasSubstr("@@")));
  EXPECT_THAT(describe_plan(steps, ShownEdits::edited_lines),
              HasSubstr("@@ -2 +2 @@\n-\ta = 1\n+\ta = 0 # \\x1b[2J\ncreate "));
}

}  // namespace
}  // namespace preflight
