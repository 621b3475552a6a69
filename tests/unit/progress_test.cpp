// SPDX-License-Identifier: MIT
#include "agent/cli/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace preflight {
namespace {

using namespace std::chrono_literals;

/// A person at a screen, whose clock stands still until it is moved.
class ProgressTest : public testing::Test {
 protected:
  ProgressSink lines(ProgressStyle style) {
    lines_.emplace(
        style, [this](std::string_view text) { shown_ += text; }, [this] { return now_; });
    return std::ref(*lines_);
  }
  std::string take() { return std::exchange(shown_, ""); }

  std::string shown_;
  ProgressLines::Clock::time_point now_{};
  std::optional<ProgressLines> lines_;
};

TEST_F(ProgressTest, PlainLinesWhereItIsNoTerminal) {
  const ProgressSink sink = lines({});
  {
    Underway building(sink, "building /boot/a.img (1 of 2)");
    EXPECT_EQ(take(), "building /boot/a.img (1 of 2)\n");
    now_ += 75s;
    building.result("30.1 MB");
  }
  EXPECT_EQ(take(), "building /boot/a.img (1 of 2): 30.1 MB, 75 s\n");
  sink({Progress::Kind::note, "a word", "", true});
  EXPECT_EQ(take(), "a word\n");
  lines_.reset();
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, WhatPassesIsSaidOnlyWhenAskedFor) {
  { const Underway reading(lines({}), "reading /boot/a.img", false); }
  EXPECT_EQ(take(), "");
  { const Underway reading(lines({false, 80, true}), "reading /boot/a.img", false); }
  EXPECT_EQ(take(), "reading /boot/a.img\nreading /boot/a.img: done, 0 s\n");
}

TEST_F(ProgressTest, OneLineThatIsRedrawnOnATerminal) {
  const ProgressSink sink = lines({true, 40, false});
  {
    const Underway first(sink, "building /boot/a.img (1 of 2)");
    EXPECT_EQ(take(), "\r\x1b[K   0 s  building /boot/a.img (1 of 2)");
    {
      const Underway second(sink, "building /boot/b.img (2 of 2)");
      EXPECT_EQ(take(), "\r\x1b[K   0 s  building /boot/a.img (1 of 2...");
      now_ += 3s;
    }
    EXPECT_EQ(take(),
              "\r\x1b[Kbuilding /boot/b.img (2 of 2): done, 3 s\n"
              "\r\x1b[K   3 s  building /boot/a.img (1 of 2)");
  }
  EXPECT_EQ(take(), "\r\x1b[Kbuilding /boot/a.img (1 of 2): done, 3 s\n");
  {
    const Underway reading(sink, "reading", false);
    take();
  }
  EXPECT_EQ(take(), "\r\x1b[K");
}

TEST_F(ProgressTest, AGuestsNamesCannotDriveTheTerminal) {
  const Underway building(lines({true, 60, false}), "building /boot/\x1b[2J.img");
  EXPECT_EQ(take(), "\r\x1b[K   0 s  building /boot/\\x1b[2J.img");
}

TEST_F(ProgressTest, LeavesNothingBehindOnTheLine) {
  const ProgressSink sink = lines({true, 40, false});
  sink({Progress::Kind::begin, "building", "", true});
  take();
  lines_.reset();
  EXPECT_EQ(take(), "\r\x1b[K");
}

}  // namespace
}  // namespace preflight
