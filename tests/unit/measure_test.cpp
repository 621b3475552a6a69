// SPDX-License-Identifier: MIT
#include "agent/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <vector>

#include "agent/guest/sync_writes.h"
#include "agent/report/measure_text.h"

namespace preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint64_t> one_to_hundred_us() {
  std::vector<std::uint64_t> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1);
  for (std::uint64_t& number : numbers) number *= 10000;
  return numbers;
}

TEST(Latency, NearestRanksAndClasses) {
  const LatencySummary summary = summarize(one_to_hundred_us());
  EXPECT_EQ(summary.writes, 100u);
  EXPECT_EQ(summary.p50_ns, 500000u);
  EXPECT_EQ(summary.p99_ns, 990000u);
  EXPECT_EQ(summary.max_ns, 1000000u);
  EXPECT_EQ(summary.total_ns, 50500000u);
  EXPECT_NEAR(summary.per_second(), 1980.2, 0.1);
  EXPECT_THAT(summary.histogram, ElementsAre(25, 25, 50, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Latency, FewAndSlow) {
  EXPECT_EQ(summarize({}).per_second(), 0);
  const std::vector<std::uint64_t> slow{100'000'001, 10'000'000};
  const LatencySummary summary = summarize(slow);
  EXPECT_EQ(summary.p50_ns, 10'000'000u);
  EXPECT_EQ(summary.p99_ns, 100'000'001u);
  EXPECT_THAT(summary.histogram, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0, 1));
}

MeasureRecord record(std::string time, std::string controller, std::string directory = "/var/lib") {
  const LatencySummary summary = summarize(one_to_hundred_us());
  return {std::move(time), std::move(directory), "/dev/vda3", std::move(controller), summary,
          summary};
}

TEST(MeasureRecord, ReadsBackWhatItWrites) {
  const MeasureRecord written = record("2026-12-01T00:00:00Z", "nvme");
  const auto read = parse_measure_record("r", dump_json(to_json(written)));
  ASSERT_TRUE(read);
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(to_json(written)));
  EXPECT_EQ(read->dsync.p99_ns, 990000u);
}

TEST(MeasureRecord, WhatIsNoRecord) {
  std::string negative = dump_json(to_json(record("t", "nvme")));
  negative.replace(negative.find("\"writes\":100"), 12, "\"writes\":-10");
  for (const std::string& text : {std::string("{}"), std::string("[]"), std::string("x"), negative})
    EXPECT_EQ(parse_measure_record("/r", text).error().kind, ErrorKind::malformed) << text;
}

TEST(MeasureRecord, BeforeIsTheNewestOnAnotherController) {
  const std::vector<MeasureRecord> earlier{record("1", "virtio-blk"), record("2", "virtio-blk"),
                                           record("3", "nvme"), record("4", "virtio-blk", "/tmp")};
  EXPECT_EQ(find_before(earlier, record("5", "nvme"))->time, "2");
  EXPECT_EQ(find_before(earlier, record("5", "virtio-blk"))->time, "3");
  EXPECT_EQ(find_before(earlier, record("5", "nvme", "/tmp"))->time, "4");
  EXPECT_EQ(find_before(earlier, record("5", "virtio-blk", "/tmp"))->time, "4");
  EXPECT_EQ(find_before(earlier, record("5", "nvme", "/srv")), nullptr);
}

Storage disks() {
  Storage storage;
  BlockDevice vda, part, nvme, boot, mirror;
  vda.name = "vda";
  part.name = "vda3", part.parents = {0}, part.mounts = {"/"};
  nvme.name = "nvme0n1", nvme.transport = "nvme";
  boot.name = "nvme0n1p1", boot.parents = {2}, boot.mounts = {"/var", "[SWAP]"};
  mirror.name = "md0", mirror.parents = {1, 3}, mirror.mounts = {"/var/lib/data"};
  vda.type = nvme.type = "disk";
  storage.devices = {vda, part, nvme, boot, mirror};
  return storage;
}

TEST(Measure, TheDeviceOfAPath) {
  const Storage storage = disks();
  const auto name = [&](const char* path) { return device_of_path(storage, path)->name; };
  EXPECT_EQ(name("/"), "vda3");
  EXPECT_EQ(name("/variant"), "vda3");
  EXPECT_EQ(name("/var"), "nvme0n1p1");
  EXPECT_EQ(name("/var/lib/database"), "nvme0n1p1");
  EXPECT_EQ(name("/var/lib/data/x"), "md0");
  EXPECT_EQ(device_of_path(Storage{}, "/"), nullptr);
}

TEST(Measure, TheControllerOfADevice) {
  const Storage storage = disks();
  EXPECT_EQ(controller_of(storage, storage.devices[1]), "virtio-blk");
  EXPECT_EQ(controller_of(storage, storage.devices[3]), "nvme");
  EXPECT_EQ(controller_of(storage, storage.devices[4]), "other");
}

class SyncWrites : public testing::Test {
 protected:
  SyncWrites() {
    std::string pattern = testing::TempDir() + "preflight-sync-XXXXXX";
    top_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(top_ + "/data");
  }
  ~SyncWrites() override { std::filesystem::remove_all(top_); }

  std::string top_;
};

TEST_F(SyncWrites, AsManyAsAskedForAndNothingLeft) {
  const auto root = Root::open(top_);
  ASSERT_TRUE(root);
  for (const SyncKind kind : {SyncKind::dsync, SyncKind::fdatasync}) {
    const auto taken =
        time_sync_writes(*root, "/data", kind, {7, std::chrono::seconds(60)}, nullptr);
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->size(), 7u);
    EXPECT_TRUE(std::filesystem::is_empty(top_ + "/data"));
  }
  const auto none =
      time_sync_writes(*root, "/data", SyncKind::dsync, {7, std::chrono::seconds(0)}, nullptr);
  EXPECT_TRUE(none && none->empty());
}

TEST_F(SyncWrites, StopsWhenAsked) {
  const auto root = Root::open(top_);
  const std::atomic<bool> stop{true};
  const auto taken = time_sync_writes(*root, "/data", SyncKind::dsync, {}, &stop);
  EXPECT_EQ(taken.error().what, "stopped");
  EXPECT_TRUE(std::filesystem::is_empty(top_ + "/data"));
}

TEST_F(SyncWrites, OnlyInADirectoryOfTheGuest) {
  const auto root = Root::open(top_);
  std::filesystem::create_symlink("/", top_ + "/data/out");
  EXPECT_EQ(time_sync_writes(*root, "/none", SyncKind::dsync, {}, nullptr).error().kind,
            ErrorKind::missing);
  // The link leads to the guest's own root.
  ASSERT_TRUE(
      time_sync_writes(*root, "/data/out", SyncKind::dsync, {1, std::chrono::seconds(9)}, nullptr));
}

TEST_F(SyncWrites, MeasuredStoredAndFoundAgain) {
  Guest guest{*Root::open(top_), top_, false, true, {}};
  const Result<Storage> storage = disks();
  const SyncLimits limits{5, std::chrono::seconds(60)};
  const auto first = measure(guest, storage, "/data", limits, 1000, nullptr);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->controller, "virtio-blk");
  std::filesystem::create_directories(top_ + "/var/lib");
  ASSERT_TRUE(store_measurement(guest, *first));
  const auto stored = stored_measurements(guest);
  ASSERT_EQ(stored.size(), 1u);
  MeasureRecord now = record("2026-12-01T00:00:00Z", "nvme", "/data");
  const std::string text = measure_text(now, find_before(stored, now));
  EXPECT_THAT(text, HasSubstr("before: on virtio-blk"));
  EXPECT_THAT(text, HasSubstr("ratio"));
  EXPECT_THAT(text, HasSubstr("fast enough"));
  now.fdatasync.p99_ns = 10'000'000;
  EXPECT_THAT(measure_text(now, nullptr), HasSubstr("too slow (10.000 ms)"));
}

}  // namespace
}  // namespace preflight
