// SPDX-License-Identifier: MIT
// README's table, --explain and the list of checks name the same ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "checks/list.h"

namespace preflight {
namespace {

TEST(ReadmeTest, ItsTableHasEveryCheckInBootOrder) {
  std::ifstream readme(PREFLIGHT_SOURCE_DIR "/README.md");
  ASSERT_TRUE(readme);
  std::vector<std::string> table;
  for (std::string line; std::getline(readme, line);) {
    const std::size_t end = line.find(" | ", 2);
    const std::string id =
        line.starts_with("| ") && end != std::string::npos ? line.substr(2, end - 2) : "";
    if (id.find('.') != std::string::npos) table.push_back(id);
  }
  std::vector<std::string> checks;
  for (const Check& check : all_checks()) checks.emplace_back(check.id);
  EXPECT_EQ(table, checks);
}

}  // namespace
}  // namespace preflight
