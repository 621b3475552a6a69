// SPDX-License-Identifier: MIT
#include "agent/formats/dracut_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "agent/guest/command.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Values = std::map<std::string, std::string>;

Values values_of(const DracutEvaluation& evaluation) {
  Values values;
  for (const auto& [name, variable] : evaluation.variables) values[name] = variable.value;
  return values;
}

Result<DracutEvaluation> read(const std::string& text) {
  return evaluate_dracut_conf({{"/etc/dracut.conf", text}});
}

/// What the system's bash makes of the same texts: each a file of its own, sourced in a subshell.
class BashOracle {
 public:
  BashOracle() {
    std::string pattern = (fs::temp_directory_path() / "dracut-oracle-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~BashOracle() { fs::remove_all(directory_); }
  BashOracle(const BashOracle&) = delete;
  BashOracle& operator=(const BashOracle&) = delete;

  std::optional<std::vector<Values>> source(const std::vector<std::string>& texts) {
    Command command;
    command.argv = {"/bin/bash",
                    "--noprofile",
                    "--norc",
                    "-p",
                    "-c",
                    "exec 9>&1 1>/dev/null 2>&1 </dev/null\n"
                    "PATH=/nowhere\n"
                    "for oracle_file; do (\n"
                    "  . \"$oracle_file\"\n"
                    "  for oracle_name in ${!a*} ${!b*} ${!d*} ${!f*} ${!h*} ${!n*} ${!o*} ${!x*} "
                    "${!HOSTONLY*}; do\n"
                    "    [[ $oracle_name == oracle_* ]] && continue\n"
                    "    printf '%s=%s\\0' \"$oracle_name\" \"${!oracle_name}\" >&9\n"
                    "  done\n"
                    "); printf '\\0' >&9; done",
                    "oracle"};
    command.environment = {"LC_ALL=C"};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const fs::path path = directory_ / (std::to_string(i) + ".conf");
      std::ofstream(path, std::ios::binary) << texts[i];
      command.argv.push_back(path.string());
    }
    const auto output = run(command);
    if (!output || output->exit_status != 0) return std::nullopt;
    return parse(output->out);
  }

 private:
  static std::vector<Values> parse(std::string_view out) {
    std::vector<Values> all(1);
    while (!out.empty()) {
      const std::string_view record = out.substr(0, out.find('\0'));
      out.remove_prefix(record.size() + 1);
      if (record.empty()) {
        all.emplace_back();
      } else {
        const std::size_t equals = record.find('=');
        all.back()[std::string(record.substr(0, equals))] = record.substr(equals + 1);
      }
    }
    all.pop_back();
    return all;
  }

  fs::path directory_;
};

const std::vector<std::string>& corpus() {
  static const std::vector<std::string> texts = {
      "",
      "\n",
      "hostonly=\"yes\"\n",
      "hostonly=\"yes\"",
      "hostonly=no",
      "hostonly=",
      "hostonly=\"\"\n",
      "hostonly='no'\n",
      "  \thostonly=yes\n",
      "#hostonly=\"no\"\n",
      "# hostonly=\"no\n\"",
      "hostonly=\"yes\" # trailing\n",
      "hostonly=yes#no comment\n",
      "hostonly=\"yes\"#no comment\n",
      "hostonly=yes ;# comment\n",
      "hostonly=yes;add_drivers=nvme\n",
      "hostonly=yes; add_drivers=nvme ; drivers=x;\n",
      "hostonly=yes add_drivers=nvme\n",
      "hostonly=yes add_drivers=$hostonly\n",
      "hostonly=yes; add_drivers=\"<$hostonly>\"\n",
      "hostonly=\"yes\"\r\nadd_drivers=\" nvme \"\r\n\r\n# c\r\n",
      "hostonly=yes \r\n",
      "hostonly = \"no\"\n",
      "hostonly = no\nhostonly=yes\n",
      "hostonly =\"no\"\n",
      "hostonly +=\"no\"\n",
      "hostonly= \"no\"\n",
      "hostonly= no\nadd_drivers+= \" nvme \"\n",
      "hostonly=yes\nhostonly= \"no\"\n",
      "HOSTONLY=\"no\"\n",
      "hostonly=yes\nhostonly+=no\n",
      "add_drivers+=\" nvme \"\n",
      "add_drivers+=\"nvme\"\nadd_drivers+=\"nvme_core\"\n",
      "add_drivers+=\" nvme\" add_drivers+=\" x\"\n",
      "add_drivers=\" a b \"c' d 'e\n",
      "add_drivers=a\\ b\n",
      "add_drivers=a\\\nb\n",
      "add_drivers=\"a\\\nb\"\n",
      "add_drivers='a\\\nb'\n",
      "add_drivers=\"a\nb\"\n",
      "add_drivers=\"a\\\"b\\\\c\\$d\\`e\\x\"\n",
      "add_drivers='a\"b$c`d'\n",
      "add_drivers=\\\"a\\$b\\\\\\'\n",
      "add_drivers=\"$\"\n",
      "add_drivers=$\n",
      "add_drivers=a$;drivers=$ \n",
      "add_drivers=5$/x\n",
      "add_drivers=a*b?[c]{d,e}\n",
      "add_drivers=!x\n",
      "add_drivers=a=b+=c\n",
      "add_drivers=\"${add_drivers} nvme \"\n",
      "add_drivers=x\nadd_drivers=\" nvme ${add_drivers} \"\n",
      "add_drivers=x\nadd_drivers=$add_drivers$add_drivers\n",
      "add_drivers=x\nadd_drivers=\"$add_drivers[0]\"\n",
      "add_drivers=x\nfoo=${add_drivers}y\n",
      "add_drivers='a  b'\ndrivers=$add_drivers\n",
      "hostonly=no\nadd_drivers=\"nvme\nfoo=1\n",
      "hostonly=no; add_drivers=\"nvme\n",
      "hostonly=no\nhostonly=yes add_drivers='x\nhostonly=1",
      "hostonly=no\n# it's fine\nadd_drivers=x\n",
      "hostonly=\"no\" \\\n add_drivers=x\n",
      "hostonly=\"no\" \\\n# comment\nadd_drivers=x\n",
      "host\\\nonly=no\n",
      "\"hostonly\"=no\n",
      "hostonly\"\"=no\n",
      "hostonly=yes\n\\hostonly=no\n",
      "hostonly=y\\es\n",
      "hostonly=yes\n1hostonly=no\n",
      "a-b=c\nhostonly=no\n",
      "add_drivers=\xc3\xa9\xff\n",
      "add_drivers=a\vb\fc\n",
      "add_drivers=a\\",
      "add_drivers=a\\\n",
      "hostonly=\\\nyes\n",
      "hostonly=yes;;\n",
      ";hostonly=yes\n",
      "hostonly=yes & add_drivers=x\n",
      "hostonly=yes && add_drivers=x\n",
      "hostonly=$(echo no)\n",
      "hostonly=`echo no`\n",
      "hostonly=\"`echo no`\"\n",
      "if true; then hostonly=no; fi\n",
      "[[ a == a ]] && hostonly=no\n",
      "hostonly=no\n[[ a == a ]; then\nhostonly=yes\n",
      "export hostonly=no\n",
      "declare hostonly=no\n",
      "hostonly=(no yes)\n",
      "hostonly[0]=no\n",
      "hostonly=yes\nunset hostonly\n",
      "hostonly=~\n",
      "hostonly=${hostonly:-no}\n",
      "hostonly=$'no'\n",
      "hostonly=$\"no\"\n",
      "hostonly=$((1+1))\n",
      "hostonly=$[1+1]\n",
      "hostonly=$$\n",
      "hostonly=no >/dev/null\n",
      "f() { hostonly=no; }\nf\n",
      "return\nhostonly=no\n",
      "hostonly=yes true\n",
      "hostonly=yes :\n",
      "hostonly=yes eval\n",
      "UID=3\nhostonly=no\n",
      "IFS=x hostonly=no\n",
      "hostonly=yes \"\"\n",
      "add_drivers=a\"\"b''c\n",
      "add_drivers=\"\"\nadd_drivers+=''\n",
      "hostonly=no\n'\n",
      "hostonly=no;'x\n",
      "hostonly=no\n\"${x\n",
  };
  return texts;
}

TEST(DracutConfTest, AgreesWithBashWheneverItAnswers) {
  const auto theirs = BashOracle().source(corpus());
  if (!theirs) GTEST_SKIP() << "no answer of a bash to compare with (none here, or too slow)";
  ASSERT_EQ(theirs->size(), corpus().size());
  std::size_t answered = 0;
  for (std::size_t i = 0; i < corpus().size(); ++i) {
    const auto ours = read(corpus()[i]);
    if (!ours) {
      EXPECT_EQ(ours.error().kind, ErrorKind::unsupported);
      EXPECT_GT(ours.error().line, 0);
      continue;
    }
    ++answered;
    EXPECT_EQ(values_of(*ours), (*theirs)[i]) << "of: " << corpus()[i];
  }
  EXPECT_GE(answered, 60u);
}

TEST(DracutConfTest, AgreesWithBashOnRandomFiles) {
  const std::vector<std::string> fragments = {"hostonly=",
                                              "add_drivers+=",
                                              "add_drivers=",
                                              "x",
                                              " ",
                                              " ",
                                              "\n",
                                              "\n",
                                              "\"",
                                              "\"",
                                              "'",
                                              "\\",
                                              "$",
                                              "$x",
                                              "${add_drivers}",
                                              "#",
                                              ";",
                                              "nvme",
                                              "=",
                                              "+=",
                                              "\r",
                                              "\t",
                                              "{",
                                              "!",
                                              "\\\n",
                                              "hostonly",
                                              "no",
                                              "omit_drivers=\" a \"\n",
                                              "b*",
                                              "\"a b\"",
                                              "'c d'"};
  std::mt19937 random(815);  // NOLINT: the same files every time
  std::vector<std::string> texts(200);
  for (std::string& text : texts)
    for (auto left = random() % 14; left > 0; --left)
      text += fragments[random() % fragments.size()];
  const auto theirs = BashOracle().source(texts);
  if (!theirs) GTEST_SKIP() << "no answer of a bash to compare with (none here, or too slow)";
  ASSERT_EQ(theirs->size(), texts.size());
  std::size_t answered = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ours = read(texts[i]);
    if (!ours) continue;
    ++answered;
    EXPECT_EQ(values_of(*ours), (*theirs)[i]) << "of: " << testing::PrintToString(texts[i]);
  }
  EXPECT_GE(answered, 60u);
}

TEST(DracutConfTest, WhatGoesBeyondAssignmentsIsNamedWithItsLine) {
  for (const char* text :
       {"# c\n\nhostonly=$(echo no)\n", "a=1\nb=2\nif true; then hostonly=no; fi\n",
        "a='1\n2'\n. /etc/other.conf\n", "a=1\\\n2\nexport hostonly\n", "a=1\n\nhostonly=`x`"}) {
    const auto result = read(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(result.error().path, "/etc/dracut.conf");
    EXPECT_EQ(result.error().line, 3) << text;
  }
}

TEST(DracutConfTest, MistypedAssignmentsAreNotedAndChangeNothing) {
  for (const char* text : {"\nhostonly = \"no\"\n", "\nhostonly= \"no\"\n", "\nhostonly =no\n"}) {
    const auto result = read(text);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(result->variables.empty());
    ASSERT_EQ(result->notes.size(), 1u);
    EXPECT_EQ(result->notes[0].line, 2);
    EXPECT_THAT(result->notes[0].what, HasSubstr("hostonly"));
  }
}

TEST(DracutConfTest, TheCommandYesNeverEnds) {
  const auto result = read("hostonly= yes\n");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::malformed);
}

TEST(DracutConfTest, CarriageReturnsAreNoted) {
  const auto result = read("hostonly=\"yes\"\r\n\r\n");
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->variables.at("hostonly").value, "yes\r");
  ASSERT_EQ(result->notes.size(), 1u);
  EXPECT_EQ(result->notes[0].line, 1);
}

TEST(DracutConfTest, AnUnclosedQuoteEndsItsFileOnly) {
  const auto result =
      evaluate_dracut_conf({{"/etc/dracut.conf.d/a.conf", "hostonly=no\nx=\"a\nb=1\n"},
                            {"/etc/dracut.conf.d/b.conf", "drivers=x\n"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(values_of(*result), (Values{{"hostonly", "no"}, {"drivers", "x"}}));
  ASSERT_EQ(result->notes.size(), 1u);
  EXPECT_EQ(result->notes[0].line, 2);
}

TEST(DracutConfTest, FusedWordsAreMarkedWhereTheyFuse) {
  const auto result = evaluate_dracut_conf({{"/a.conf", "add_drivers+=\"nvme\"\n"},
                                            {"/b.conf", "\nadd_drivers+=\"nvme_core\"\n"},
                                            {"/c.conf", "add_drivers+=\" x \"\n"},
                                            {"/d.conf", "add_drivers+=\"y\"\n"}});
  ASSERT_TRUE(result);
  const DracutVariable& drivers = result->variables.at("add_drivers");
  EXPECT_EQ(drivers.value, "nvmenvme_core x y");
  ASSERT_EQ(drivers.assignments.size(), 4u);
  EXPECT_TRUE(drivers.assignments[0].padded);
  EXPECT_FALSE(drivers.assignments[1].padded);
  EXPECT_EQ(drivers.assignments[1].path, "/b.conf");
  EXPECT_EQ(drivers.assignments[1].line, 2);
  EXPECT_TRUE(drivers.assignments[2].padded);
  EXPECT_TRUE(drivers.assignments[3].padded);
}

TEST(DracutConfTest, MaskedFilesSayNothing) {
  const auto result = evaluate_dracut_conf({{"/a.conf", "hostonly=no", true}});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->variables.empty());
}

TEST(DracutConfTest, GrowingValuesStopEarly) {
  std::string text = "x=0123456789\n";
  for (int i = 0; i < 60; ++i) text += "x=$x$x\n";
  EXPECT_EQ(read(text).error().kind, ErrorKind::unsupported);
  text = "x=" + std::string(900000, 'a') + "\n";
  for (int i = 0; i < 1000; ++i) text += "y=$x\n";
  EXPECT_EQ(read(text).error().kind, ErrorKind::unsupported);
}

TEST(DracutConfTest, InternalsOfDracutAndBashAreNoSettings) {
  for (const char* text : {"confdir=/x\n", "hostonly_l=no\n", "PATH=/x\n", "BASH_ENV=x\n"})
    EXPECT_EQ(read(text).error().kind, ErrorKind::unsupported) << text;
  EXPECT_EQ(read(std::string("a=\0b\n", 5)).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(read(std::string("a='\0b'\n", 7)).error().kind, ErrorKind::unsupported);
  for (const char* text : {"a=\\\x01\n", "a=\\\x7f\n"})
    EXPECT_EQ(read(text).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(read(std::string("a=\\\0b\n", 6)).error().kind, ErrorKind::unsupported);
}

TEST(DracutConfTest, QuotedValuesReadBackAsTheyWere) {
  const std::string odd = " a\"b\\c$d`e'f \n*~ ";
  const auto result = read("drivers=" + double_quoted(odd) + "\n");
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->variables.at("drivers").value, odd);
}

}  // namespace
}  // namespace preflight
