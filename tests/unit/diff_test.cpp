// SPDX-License-Identifier: MIT
#include "agent/formats/diff.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "agent/guest/command.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;

TEST(UnifiedDiffTest, EqualTextsGiveNothing) {
  EXPECT_EQ(unified_diff("a", "x\ny\n", "b", "x\ny\n"), "");
  EXPECT_EQ(unified_diff("a", "", "b", ""), "");
}

TEST(UnifiedDiffTest, OneChangedLine) {
  EXPECT_EQ(unified_diff("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(UnifiedDiffTest, ACreatedFile) {
  EXPECT_EQ(unified_diff("/dev/null", "", "b", "1\n2\n"),
            "--- /dev/null\n+++ b\n@@ -0,0 +1,2 @@\n+1\n+2\n");
}

TEST(UnifiedDiffTest, ALastLineWithoutNewline) {
  EXPECT_EQ(unified_diff("a", "1\n2", "b", "1\n2\n"),
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n");
}

TEST(UnifiedDiffTest, ThousandsOfDifferentLinesStayBounded) {
  std::string before;
  std::string after;
  for (int i = 0; i < 20000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  const std::string diff = unified_diff("a", before, "b", after);
  EXPECT_EQ(diff.find("--- a\n+++ b\n@@ -1,20000 +1,20000 @@\n-old 0\n"), 0u);
}

/// patch(1) and diff(1) as oracles.
TEST(UnifiedDiffTest, ShowsNothingBesideTheEditWithoutContext) {
  EXPECT_EQ(unified_diff("a", "1\n2\n3\n4\n", "b", "1\ntwo\n3\n4\n5\n", 0),
            "--- a\n+++ b\n@@ -2 +2 @@\n-2\n+two\n@@ -4,0 +5 @@\n+5\n");
}

TEST(UnifiedDiffTest, ShowsNoUntouchedLineHoweverManyAreEdited) {
  std::string before;
  std::string after;
  for (int i = 0; i < 3000; ++i) {
    before += "old " + std::to_string(i) + "\n" + "kept " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n" + "kept " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(unified_diff("a", before, "b", after, 0).find("kept"), std::string::npos);
}

class DiffOracleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/bin/patch") || !fs::exists("/usr/bin/diff"))
      GTEST_SKIP() << "patch and diff are not installed: no oracle";
    std::string pattern = (fs::temp_directory_path() / "diff-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override {
    if (!base_.empty()) fs::remove_all(base_);
  }

  std::string patched(const std::string& before, const std::string& diff) {
    std::ofstream(base_ / "file", std::ios::binary) << before;
    Command command;
    command.argv = {"/usr/bin/patch", "--silent", "--posix", (base_ / "file").string()};
    command.environment = {"PATH=/usr/bin:/bin"};
    command.input = diff;
    auto output = run(command);
    EXPECT_TRUE(output && output->exit_status == 0) << diff;
    std::ifstream in(base_ / "file", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  int changed_lines_of_diff(const std::string& before, const std::string& after) {
    std::ofstream(base_ / "a", std::ios::binary) << before;
    std::ofstream(base_ / "b", std::ios::binary) << after;
    Command command;
    command.argv = {"/usr/bin/diff", "--minimal", "-u", (base_ / "a").string(),
                    (base_ / "b").string()};
    return changed_lines(run(command).value().out);
  }

  static int changed_lines(const std::string& diff) {
    std::istringstream in(diff);
    int count = 0;
    for (std::string line; std::getline(in, line);)
      count += (line.starts_with('+') || line.starts_with('-')) ? 1 : 0;
    return count;
  }

  fs::path base_;
};

TEST_F(DiffOracleTest, PatchTurnsBeforeIntoAfterAndNoShorterDiffExists) {
  std::mt19937 random(4711);
  const auto text = [&] {
    std::string out;
    const unsigned lines = static_cast<unsigned>(random()) % 25;
    for (unsigned i = 0; i < lines; ++i) out += std::string(1, "abcde"[random() % 5]) + "\n";
    if (!out.empty() && random() % 4 == 0) out.pop_back();
    return out;
  };
  for (int round = 0; round < 60; ++round) {
    const std::string before = text();
    const std::string after = text() + "x\n";  // patch removes a file that becomes empty
    const std::string diff = unified_diff("file", before, "file", after);
    EXPECT_EQ(patched(before, diff), after) << diff;
    EXPECT_EQ(changed_lines(diff), changed_lines_of_diff(before, after));
  }
}

}  // namespace
}  // namespace preflight
