// SPDX-License-Identifier: MIT
#include "agent/formats/version_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace preflight {
namespace {

constexpr PlusRule el8 = PlusRule::separates;
constexpr PlusRule el9 = PlusRule::orders;

TEST(VersionCompare, NumbersAreNumbers) {
  EXPECT_LT(compare_versions("5.14.0", "5.14.1", el9), 0);
  EXPECT_LT(compare_versions("70.el9", "503.el9", el9), 0);
  EXPECT_EQ(compare_versions("007", "7", el9), 0);
  EXPECT_GT(compare_versions("99999999999999999999999", "1", el9), 0);
}

TEST(VersionCompare, SeparatorsAreOne) {
  EXPECT_EQ(compare_versions("1.0", "1..0", el9), 0);
  EXPECT_EQ(compare_versions("1.0", "1_0", el9), 0);
  EXPECT_GT(compare_versions("1.0", "1", el9), 0);
  EXPECT_EQ(compare_versions("", "", el9), 0);
  EXPECT_LT(compare_versions("", "1", el9), 0);
}

TEST(VersionCompare, NumbersAreNewerThanLetters) {
  EXPECT_GT(compare_versions("1.1", "1.a", el9), 0);
  EXPECT_LT(compare_versions("a", "1", el9), 0);
}

TEST(VersionCompare, PlusOrdersFromEl9On) {
  EXPECT_GT(compare_versions("1+debug", "1", el9), 0);
  EXPECT_LT(compare_versions("1+debug", "1.2", el9), 0);
  EXPECT_LT(compare_versions("1+b", "1.a", el9), 0);
  EXPECT_GT(compare_versions("1+b", "1.a", el8), 0);
}

TEST(VersionCompare, NameVersionRelease) {
  const std::string id = "0123456789abcdef0123456789abcdef-";
  const auto compare = [](const std::string& a, const std::string& b) {
    return compare_name_version_release(a, b, el9);
  };
  EXPECT_LT(compare(id + "5.14.0-70.el9.x86_64", id + "5.14.0-503.el9.x86_64"), 0);
  EXPECT_LT(compare(id + "0-rescue", id + "5.14.0-70.el9.x86_64"), 0);
  // Machine ids are compared like versions: run by run, digits before letters.
  EXPECT_GT(compare("9" + id + "5.14.0-70.el9.x86_64", id + "5.14.0-503.el9.x86_64"), 0);
  EXPECT_LT(compare("f" + id + "5.14.0-503.el9.x86_64", id + "5.14.0-70.el9.x86_64"), 0);
  EXPECT_LT(compare("a", "a-1"), 0);
  EXPECT_LT(compare("a-1", "a-1-1"), 0);
  EXPECT_LT(compare("", "a"), 0);
  EXPECT_EQ(compare_version_release("4.18.0-553.el8", "4.18.0-553.el8", el8), 0);
  EXPECT_GT(compare_version_release("4.18.0-553.el8", "4.18.0-80.el8", el8), 0);
}

std::string random_version(std::mt19937& random) {
  static constexpr std::string_view alphabet = "0019ab.._~^";
  std::string out;
  for (unsigned length = 1 + random() % 8; length > 0; --length)
    out += alphabet[random() % alphabet.size()];
  return out;
}

/// Answers of rpm for all pairs, one sign a line; empty when there is no rpm.
std::vector<int> ask_rpm(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string script = testing::TempDir() + "/vercmp-test.lua";
  std::ofstream file(script);
  for (const auto& [a, b] : pairs)
    file << "io.write(rpm.vercmp('" << a << "','" << b << "'),'\\n')\n";
  file.close();
  const std::string command =
      "timeout 60 rpm --eval \"%{lua:dofile('" + script + "')}\" 2>/dev/null";
  std::vector<int> out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return out;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe)) {
    const std::string text = line.data();
    if (text != "\n") out.push_back(std::atoi(text.c_str()));
  }
  ::pclose(pipe);
  std::remove(script.c_str());
  return out;
}

/// GRUB's "+" is rpm's "^"; both were taken from the same function.
std::string as_grub(std::string text) {
  std::replace(text.begin(), text.end(), '^', '+');
  return text;
}

TEST(VersionCompare, AgreesWithRpm) {
  // Without dashes and colons, which rpm.vercmp() takes for a release and an epoch.
  std::vector<std::string> versions = {"5.14.0",
                                       "70.13.1.el9_0.x86_64",
                                       "503.el9",
                                       "503.40.1.el9_5",
                                       "4.18.0",
                                       "553.el8_10.x86_64",
                                       "rescue",
                                       "6.12.0",
                                       "55.9.1.el10_0",
                                       "1~rc1",
                                       "1^git1",
                                       "1.0^",
                                       "1.0~",
                                       "1.0.",
                                       "a",
                                       "...",
                                       "0",
                                       "00",
                                       "503.el9.x86_64^rt"};
  std::mt19937 random(20250101);
  while (versions.size() < 120) versions.push_back(random_version(random));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& a : versions)
    for (const std::string& b : versions) pairs.emplace_back(a, b);
  const std::vector<int> answers = ask_rpm(pairs);
  if (answers.empty()) GTEST_SKIP() << "no rpm here: NOT compared with rpm's own vercmp";
  ASSERT_EQ(answers.size(), pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i)
    EXPECT_EQ(compare_versions(as_grub(pairs[i].first), as_grub(pairs[i].second), el9), answers[i])
        << pairs[i].first << " " << pairs[i].second;
}

}  // namespace
}  // namespace preflight
