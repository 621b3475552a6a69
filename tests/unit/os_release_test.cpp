// SPDX-License-Identifier: MIT
#include "agent/formats/os_release.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>

#include "agent/facts/release.h"

namespace preflight {
namespace {

std::string value(const std::string& text, const std::string& name = "A") {
  const auto fields = parse_os_release_fields("/etc/os-release", text);
  if (!fields) return "error: " + fields.error().message();
  const auto found = fields->find(name);
  return found == fields->end() ? "unset" : found->second;
}

TEST(OsRelease, ShellQuoting) {
  EXPECT_EQ(value("A=plain\n"), "plain");
  EXPECT_EQ(value("A=\"with blanks\"\n"), "with blanks");
  EXPECT_EQ(value("A='single \\ $x'\n"), "single \\ $x");
  EXPECT_EQ(value("A=\"a \\\"b\\\" \\$c \\\\ \\n\"\n"), "a \"b\" $c \\ \\n");
  EXPECT_EQ(value("A=a\\ b\n"), "a b");
  EXPECT_EQ(value("A=\"x\"'y'z # comment\n"), "xyz");
  EXPECT_EQ(value("A=\n"), "");
  EXPECT_EQ(value("A=crlf\r\n"), "crlf");
}

/// What the shell makes of an os-release file's A; nullopt when there is no sh.
std::optional<std::string> ask_shell(const std::string& text) {
  const std::string path = testing::TempDir() + "/os-release-test-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << text;
  const std::string command = "env -i sh -c '. " + path + "; printf %s. \"$A\"' 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return std::nullopt;
  std::array<char, 4096> bytes{};
  std::string out(bytes.data(), std::fread(bytes.data(), 1, bytes.size(), pipe));
  ::pclose(pipe);
  std::remove(path.c_str());
  if (out.empty()) return std::nullopt;
  return out.substr(0, out.size() - 1);
}

TEST(OsRelease, AgreesWithTheShell) {
  if (!ask_shell("A=1\n")) GTEST_SKIP() << "no sh here: NOT compared with it";
  for (const std::string text :
       {"A=plain\n", "A=\"with blanks\"\n", "A='single \\ $x'\n",
        "A=\"a \\\"b\\\" \\$c \\\\ \\n\"\n", "A=a\\ b\n", "A=\"x\"'y'z # comment\n", "A=\n",
        "A=a#b\n", "A='it'\\''s'\n", "A=\"\\`\"\n"})
    EXPECT_EQ(value(text), ask_shell(text)) << text;
}

TEST(OsRelease, CommentsAndJunkSetNothing) {
  EXPECT_EQ(value("#A=1\nB=2\n"), "unset");
  EXPECT_EQ(value("A =1\nB=2\n"), "unset");
  EXPECT_EQ(value("1A=1\njust text\n=x\nB=2\n", "B"), "2");
  EXPECT_EQ(value("A=1\nA=2\n"), "2");
}

TEST(OsRelease, Errors) {
  EXPECT_EQ(value("B=1\nA=\"open\n"), "error: /etc/os-release:2: a quote is not closed");
  EXPECT_EQ(parse_os_release_fields("/p", "").error().kind, ErrorKind::malformed);
  EXPECT_EQ(parse_os_release_fields("/p", std::string(100, '\0')).error().kind,
            ErrorKind::malformed);
}

Release release(const std::string& text) {
  return parse_os_release("/etc/os-release", text).value();
}

TEST(OsRelease, Version) {
  const Release rocky = release(
      "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"\n"
      "PRETTY_NAME=\"Rocky Linux 9.5 (Blue Onyx)\"\n");
  EXPECT_EQ(rocky.major, 9);
  EXPECT_EQ(rocky.minor, 5);
  EXPECT_EQ(rocky.pretty_name, "Rocky Linux 9.5 (Blue Onyx)");
  EXPECT_EQ(rocky.id_like, (std::vector<std::string>{"rhel", "centos", "fedora"}));
  EXPECT_EQ(release("ID=centos\nVERSION_ID=\"9\"\n").minor, -1);
  EXPECT_EQ(release("ID=centos\n").major, -1);
  EXPECT_EQ(release("ID=x\nVERSION_ID=99999999999999999999\n").major, -1);
  EXPECT_EQ(release("ID=x\nVERSION_ID=-9\n").major, -1);
  EXPECT_EQ(release("ID=x\nVERSION_ID=10.0\n").major, 10);
  EXPECT_EQ(release("VERSION_ID=1\n").id, "linux");
}

TEST(OsRelease, ElFamily) {
  EXPECT_TRUE(release("ID=\"rocky\"\n").is_el());
  EXPECT_TRUE(release("ID=\"almalinux\"\n").is_el());
  EXPECT_TRUE(release("ID=\"ol\"\nID_LIKE=\"fedora\"\n").is_el());
  EXPECT_TRUE(release("ID=\"rhel\"\nID_LIKE=\"fedora\"\n").is_el());
  EXPECT_TRUE(release("ID=\"newrebuild\"\nID_LIKE=\"rhel centos fedora\"\n").is_el());
  EXPECT_FALSE(release("ID=fedora\n").is_el());
  EXPECT_FALSE(release("ID=\"remix\"\nID_LIKE=\"fedora\"\n").is_el());
  EXPECT_FALSE(release("ID=\"amzn\"\nID_LIKE=\"centos rhel fedora\"\n").is_el());
  EXPECT_FALSE(release("ID=debian\n").is_el());
  EXPECT_FALSE(release("ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\n").is_el());
  EXPECT_FALSE(release("ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME=\"like rhel\"\n").is_el());
}

}  // namespace
}  // namespace preflight
