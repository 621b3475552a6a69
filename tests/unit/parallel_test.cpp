// SPDX-License-Identifier: MIT
#include "agent/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <vector>

namespace preflight {
namespace {

TEST(ForEachIndex, DoesEachOnceWhateverTheJobs) {
  for (const std::size_t jobs : {1u, 3u, 50u}) {
    std::vector<std::atomic<int>> done(20);
    for_each_index(done.size(), jobs, [&](std::size_t i) { ++done[i]; });
    for (const auto& count : done) EXPECT_EQ(count, 1);
  }
  for_each_index(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ForEachIndex, DoesThemSideBySide) {
  std::barrier meet(3);  // would wait for ever if they came one by one
  for_each_index(3, 3, [&](std::size_t) { meet.arrive_and_wait(); });
}

TEST(ForEachIndex, OneJobKeepsTheOrder) {
  std::vector<std::size_t> order;
  for_each_index(4, 1, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(ChooseJobs, IsWhatWasAskedForButNoMoreThanThereIsToDo) {
  EXPECT_EQ(choose_jobs(3, 10, 1), 3u);
  EXPECT_EQ(choose_jobs(30, 2, 1), 2u);
  EXPECT_EQ(choose_jobs(3, 0, 1), 1u);
}

TEST(ChooseJobs, IsOneWhereMemoryIsShort) {
  EXPECT_EQ(choose_jobs(0, 10, std::size_t{1} << 60), 1u);
  EXPECT_GE(choose_jobs(0, 10, 1), 1u);
}

}  // namespace
}  // namespace preflight
