// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_conf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "agent/facts/lvm.h"
#include "agent/guest/command.h"
#include "tests/unit/lvm_corpus.h"

namespace preflight {
namespace {

constexpr const char* setting = "devices/use_devicesfile";

Result<LvmConf> parse(const std::string& text) {
  return LvmConf::parse("/etc/lvm/lvm.conf", text);
}

std::optional<bool> boolean_in(const std::string& text) {
  Result<LvmConf> conf = parse(text);
  EXPECT_TRUE(conf) << text;
  return conf ? conf->boolean(setting) : std::nullopt;
}

TEST(LvmConf, ListsAndNamesAreBounded) {
  const auto kind = [](const std::string& text) {
    const auto conf = LvmConf::parse("/etc/lvm/lvm.conf", text);
    return conf ? std::string("fine") : conf.error().what;
  };
  const auto list = [](std::size_t values) {
    std::string text = "devices/filter=[0";
    for (std::size_t i = 1; i < values; ++i) text += ",0";
    return text + "]\n";
  };
  EXPECT_EQ(kind(list(20000)), "fine");
  EXPECT_EQ(kind(list(20001)), "more than 20000 values");
  EXPECT_EQ(kind(std::string(1024, 'a') + "=1\n"), "fine");
  EXPECT_EQ(kind(std::string(1000, 'a') + "{" + std::string(24, 'b') + "=1}\n"),
            "a name longer than 1024 bytes");
}

TEST(LvmConfTest, TakesBooleansAsLvmDoes) {
  for (const char* value : {"1", "2", "-1", "+1", "y", "YES", "\"on\"", "'true'", "[ 1 ]", "010"})
    EXPECT_EQ(boolean_in(fmt::format("devices {{ use_devicesfile = {} }}", value)), true) << value;
  for (const char* value : {"0", "n", "No", "\"off\"", "false", "[0]", "00", "[0, 1]"})
    EXPECT_EQ(boolean_in(fmt::format("devices {{ use_devicesfile = {} }}", value)), false) << value;
  for (const char* value : {"\"0\"", "\"1\"", "\"\"", "1.0", "[]", "maybe"})
    EXPECT_EQ(boolean_in(fmt::format("devices {{ use_devicesfile = {} }}", value)), std::nullopt)
        << value;
}

TEST(LvmConfTest, TheLastAssignmentCounts) {
  EXPECT_EQ(boolean_in("devices { use_devicesfile=1 }\ndevices/use_devicesfile=0"), false);
  EXPECT_EQ(boolean_in("/devices/use_devicesfile=0\n\"devices\" { 'use_devicesfile' = 1 }"), true);
}

TEST(LvmConfTest, NamesTheLineThatLvmRejects) {
  Result<LvmConf> conf = parse("devices {\n\tdir = \"/dev\"\n\tuse_devicesfile = ]\n}\n");
  ASSERT_FALSE(conf);
  EXPECT_EQ(conf.error().kind, ErrorKind::malformed);
  EXPECT_EQ(conf.error().line, 3);
  EXPECT_NE(conf.error().what.find("Parse error at byte"), std::string::npos);
  EXPECT_EQ(conf.error().path, "/etc/lvm/lvm.conf");
  // libdevmapper stumbles over what follows the name ";".
  EXPECT_EQ(parse("devices {\n\tuse_devicesfile = 1;\n}\n").error().line, 3);
  // It gives no line for a number it cannot read.
  EXPECT_EQ(parse("devices {\n\ta = 1\n\tb = 99999999999999999999\n}\n").error().line, 3);
}

TEST(LvmConfTest, AFileWithoutSettingsFailsLvmButAnEmptyOneDoesNot) {
  EXPECT_TRUE(parse(""));
  for (const char* text : {"# comment\n", " \n", "\n"}) {
    Result<LvmConf> conf = parse(text);
    ASSERT_FALSE(conf);
    EXPECT_EQ(conf.error().kind, ErrorKind::malformed);
  }
}

TEST(LvmConfTest, ANulEndsTheText) {
  using namespace std::string_literals;
  Result<LvmConf> conf = parse("devices/use_devicesfile=1\0devices/use_devicesfile=0 }"s);
  ASSERT_TRUE(conf);
  EXPECT_EQ(conf->boolean(setting), true);
  EXPECT_EQ(conf->scan().places.size(), 1u);
}

TEST(LvmConfTest, ASectionInPlaceOfAValueIsNoBoolean) {
  Result<LvmConf> conf = parse("devices { use_devicesfile { a = 1 } }");
  ASSERT_TRUE(conf);
  EXPECT_EQ(conf->boolean(setting), std::nullopt);
  EXPECT_TRUE(conf->is_section(setting));
}

TEST(LvmConfTest, LimitsAreErrors) {
  std::string nested, closing, path = "a";
  for (int i = 0; i < 100000; ++i) nested += "a{";
  EXPECT_EQ(parse(nested).error().kind, ErrorKind::unsupported);
  for (int i = 0; i < 200000; ++i) path += "/a";
  EXPECT_EQ(parse(path + "=1").error().kind, ErrorKind::unsupported);
  std::string many;
  for (int i = 0; i < 100000; ++i) many += fmt::format("k{}=1\n", i);
  EXPECT_EQ(parse(many).error().kind, ErrorKind::too_large);
  EXPECT_EQ(parse("a=\"" + std::string(lvm_conf_cap, 'x') + "\"").error().kind,
            ErrorKind::too_large);
  std::string deep;
  for (int i = 0; i < 63; ++i) deep += "a{";
  EXPECT_TRUE(parse(deep + "b=1" + std::string(63, '}')));
}

TEST(LvmConfTest, LongListsAndManyDuplicatesAreRead) {
  std::string list = "devices { filter = [ ";
  for (int i = 0; i < 20000; ++i) list += "1,";
  Result<LvmConf> conf = parse(list + "] }");
  ASSERT_TRUE(conf);
  EXPECT_EQ(conf->values("devices/filter")->size(), 20000u);
  std::string duplicates;
  for (int i = 0; i < 9999; ++i) duplicates += "x=1\n";
  EXPECT_TRUE(parse(duplicates));
}

TEST(LvmConfTest, PlacesSpanTheValueAsWritten) {
  Result<LvmConf> conf = parse("devices {\n a = [\n 1,\n \"x }\" ]\n b=yes}\n");
  ASSERT_TRUE(conf);
  const auto a = conf->places("devices/a");
  const auto b = conf->places("devices/b");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(conf->written(a->at(0)), "[\n 1,\n \"x }\" ]");
  EXPECT_EQ(a->at(0).line, 2);
  EXPECT_EQ(conf->written(b->at(0)), "yes");
  EXPECT_EQ(b->at(0).line, 5);
  EXPECT_TRUE(conf->places("devices/none")->empty());
}

TEST(LvmConfTest, NothingGoesToStderr) {
  testing::internal::CaptureStderr();
  for (const std::string& text : lvm_corpus())
    if (Result<LvmConf> conf = parse(text)) conf->boolean(setting);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// The scanner and libdevmapper agree on which text is well formed and, for every setting, on where
/// its value stands.
void expect_agreement(const std::string& text) {
  Result<LvmConf> conf = parse(text);
  if (!conf) {
    EXPECT_NE(conf.error().kind, ErrorKind::unsupported) << conf.error().message() << "\n" << text;
    return;
  }
  std::set<std::string> written, valued;
  for (const LvmConfPlace& place : conf->scan().places) {
    written.insert(place.path);
    // No path leads to a key with an empty name; it stays "unsupported".
    if (('/' + place.path + '/').find("//") != std::string::npos) continue;
    EXPECT_TRUE(conf->places(place.path)) << place.path << "\n" << text;
  }
  for (const auto& [path, node] : conf->tree())
    if (node.values) valued.insert(path);
  EXPECT_EQ(written, valued) << text;
}

TEST(LvmConfTest, ScannerAndLibraryAgree) {
  for (const std::string& text : lvm_corpus()) expect_agreement(text);
  expect_agreement(el9_lvm_conf);
}

TEST(LvmConfTest, ScannerAndLibraryAgreeOnDamagedTexts) {
  const std::vector<std::string> corpus = lvm_corpus();
  const std::string alphabet = "{}[]=,\"'\\#\n\r\t ./-+01ax\v\xff";
  std::mt19937 random(20240501);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 20000; ++round) {
    std::string text = corpus[below(corpus.size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      if (below(3) == 0 && at < text.size())
        text.erase(at, 1 + below(3));
      else
        text.insert(at, 1, alphabet[below(alphabet.size())]);
    }
    expect_agreement(text);
    if (HasFailure()) break;
  }
}

/// lvmconfig itself as the judge.
class LvmconfigTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/sbin/lvm")) GTEST_SKIP() << "no lvm2 here: NOT COMPARED";
    std::string pattern = (std::filesystem::temp_directory_path() / "lvm-oracle-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }

  CommandOutput lvmconfig(std::vector<std::string> arguments) {
    Command command;
    command.argv = {"/usr/sbin/lvm", "lvmconfig"};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = {"LVM_SYSTEM_DIR=" + directory_.string(), "LVM_SUPPRESS_FD_WARNINGS=1"};
    return run(command).value();
  }

  bool default_of_build() {
    return parse_lvmconfig_boolean(lvmconfig({"--typeconfig", "default", setting}).out,
                                   "use_devicesfile")
        .value();
  }

  std::filesystem::path directory_;
};

TEST_F(LvmconfigTest, ReadsTheCorpusAlike) {
  write("lvm.conf", "devices/use_devicesfile=1\n");
  const bool fallback = default_of_build();
  for (const std::string& text : lvm_corpus()) {
    if (text.empty()) continue;  // lvmconfig cannot print an empty configuration
    Result<LvmConf> conf = parse(text);
    if (conf && conf->is_section(setting)) continue;     // lvm crashes on it
    if (conf && conf->values("devices/tags")) continue;  // see the facts' own test
    if (conf && !conf->is_section("devices") && conf->tree().count("devices") > 0) continue;
    write("lvm.conf", text);
    const CommandOutput output = lvmconfig({"--typeconfig", "full", setting});
    EXPECT_EQ(output.exit_status == 0, conf.has_value()) << text << "\n" << output.err;
    if (!conf || output.exit_status != 0) continue;
    EXPECT_EQ(parse_lvmconfig_boolean(output.out, "use_devicesfile").value_or(fallback),
              conf->boolean(setting).value_or(fallback))
        << text << "\n"
        << output.out;
  }
}

std::vector<std::string> texts(const std::optional<LvmConfValues>& values) {
  std::vector<std::string> out;
  for (const LvmConfValue& value : values.value_or(LvmConfValues{})) out.push_back(value.text);
  return out;
}

TEST_F(LvmconfigTest, MergesFilesAlike) {
  const std::vector<std::string> local = {
      "",
      "devices { use_devicesfile = 0 }",
      "devices { use_devicesfile = \"0\" }",
      "local { use_devicesfile = 0 }",
      "devices { use_devicesfile = 1 tags = [ \"@here\" ] }",
      "devices { use_devicesfile = 1 tags = [ \"elsewhere\" ] }",
      "tags { extra {} }",
      "devices { filter = \"a|local|\" global_filter = \"a|local|\" }"};
  const std::vector<std::string> tagged = {"", "devices { use_devicesfile = yes }",
                                           "devices { filter = [ \"r|tag|\" ] dir = 1 }"};
  write("lvm.conf", "devices { use_devicesfile = 1 }");
  const bool fallback = default_of_build();
  for (const char* main : {"devices { use_devicesfile = 1 filter = [ \"a|one|\", \"r|two|\" ] }\n"
                           "tags { here {} }",
                           "devices { use_devicesfile = 0 global_filter = \"r|main|\" }\n"
                           "tags { here {} there { host_list = [ \"nowhere\" ] } }"})
    for (const std::string& second : local)
      for (const std::string& third : tagged) {
        write("lvm.conf", main);
        write("lvmlocal.conf", second);
        write("lvm_here.conf", third);
        LvmFacts facts;
        facts.system_dir = directory_.string();
        facts.use_devicesfile_default = fallback;
        facts.default_source = "test";
        facts.tags = std::vector<std::string>{"here", "extra"};
        facts.files = {{"lvm.conf", main}, {"lvmlocal.conf", second}, {"lvm_here.conf", third}};
        facts = merge_lvm(facts);
        ASSERT_TRUE(facts.use_devicesfile) << facts.use_devicesfile.error().message();
        Result<LvmConf> theirs = LvmConf::parse("lvmconfig", lvmconfig({"devices"}).out);
        ASSERT_TRUE(theirs) << theirs.error().message();
        const std::string all = std::string(main) + "\n" + second + "\n" + third;
        EXPECT_EQ(theirs->boolean(setting).value_or(fallback), *facts.use_devicesfile) << all;
        EXPECT_EQ(texts(theirs->values("devices/filter")), facts.filter) << all;
        EXPECT_EQ(texts(theirs->values("devices/global_filter")), facts.global_filter) << all;
      }
}

}  // namespace
}  // namespace preflight
