// SPDX-License-Identifier: MIT
#include "checks/explanations.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/report/explain.h"
#include "checks/list.h"

namespace preflight {
namespace {

TEST(ExplanationsTest, OneForEachCheckInBootOrder) {
  std::vector<Check> checks(all_checks().begin(), all_checks().end());
  for (const Check& check : after_switch_checks())
    if (check.id.starts_with("after.")) checks.push_back(check);
  const auto explanations = all_explanations();
  ASSERT_EQ(checks.size(), explanations.size());
  for (std::size_t i = 0; i < checks.size(); ++i) EXPECT_EQ(checks[i].id, explanations[i].check);
}

TEST(ExplanationsTest, NothingIsLeftEmptyButTheFix) {
  for (const Explanation& item : all_explanations()) {
    for (const std::string_view text :
         {item.meaning, item.why, item.verified, item.by_hand, item.since})
      EXPECT_FALSE(text.empty()) << item.check;
  }
}

TEST(ExplainTest, NamesOnlyKnownChecks) {
  EXPECT_TRUE(explain("lvm.filter", 80));
  EXPECT_FALSE(explain("lvm.filters", 80));
}

}  // namespace
}  // namespace preflight
