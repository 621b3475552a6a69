// SPDX-License-Identifier: MIT
#include "agent/plan.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

const std::string text = "one\ntwo\nthree\n";

EditFile edit(const std::string& after) {
  return {"/etc/x", text, after};
}

TEST(CombineEditsTest, LaysTwoEditsOfOneFileOverEachOther) {
  const auto plan = combine_edits({edit("1\ntwo\nthree\n"), edit("one\ntwo\n3\n")});
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->size(), 1u);
  EXPECT_EQ(std::get<EditFile>(plan->front()).after, "1\ntwo\n3\n");
  EXPECT_EQ(std::get<EditFile>(plan->front()).before, text);
}

TEST(CombineEditsTest, TheSameInTheOtherOrder) {
  const auto plan = combine_edits({edit("one\ntwo\n3\n"), edit("zero\none\ntwo\nthree\n")});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(std::get<EditFile>(plan->front()).after, "zero\none\ntwo\n3\n");
}

TEST(CombineEditsTest, RefusesEditsOfTheSamePlace) {
  EXPECT_FALSE(combine_edits({edit("one\n2\nthree\n"), edit("one\nzwei\nthree\n")}));
  EXPECT_FALSE(combine_edits({edit("one\ntwo\nX\nthree\n"), edit("one\ntwo\nY\nthree\n")}));
}

TEST(CombineEditsTest, TheSameEditTwiceIsOne) {
  const auto plan = combine_edits({edit("one\n2\nthree\n"), edit("one\n2\nthree\n")});
  ASSERT_TRUE(plan);
  EXPECT_EQ(std::get<EditFile>(plan->front()).after, "one\n2\nthree\n");
}

TEST(CombineEditsTest, RefusesDifferentStarts) {
  EXPECT_FALSE(combine_edits({edit("one\n2\nthree\n"), EditFile{"/etc/x", "other\n", "more\n"}}));
  EXPECT_FALSE(combine_edits(
      {EditFile{"/etc/x", std::nullopt, "a"}, EditFile{"/etc/x", std::nullopt, "b"}}));
}

TEST(CombineEditsTest, KeepsOtherSteps) {
  const auto plan =
      combine_edits({edit("1\n"), BuildImage{"/boot/i", "K", false}, EditFile{"/etc/y", "a", "b"}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->size(), 3u);
}

}  // namespace
}  // namespace preflight
