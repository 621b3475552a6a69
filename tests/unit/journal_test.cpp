// SPDX-License-Identifier: MIT
#include "agent/transaction/journal.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

const std::string run = "20261130T210000Z-1";

std::string begin() {
  RunRecord record;
  record.run = run;
  record.tool = "nvme-preflight 0.1.0";
  record.time = "2026-11-30T21:00:00Z";
  return dump_json(begin_event(record)) + '\n';
}

FileRecord file() {
  FileRecord file;
  file.path = "/etc/lvm/lvm.conf";
  file.existed = true;
  file.backup = "backup-0";
  file.attributes.mode = 04755;
  file.attributes.uid = 4294967294u;
  file.attributes.gid = 7;
  file.attributes.accessed = {1000, 1};
  file.attributes.modified = {-1000, 999999999};
  file.attributes.xattrs = {{"security.selinux", std::string("etc_t\0", 6)},
                            {"user.\xff", "\x80\n\""}};
  file.original = {std::uint64_t{1} << 40, 0xffffffffu};
  return file;
}

Result<ParsedJournal> parse(const std::string& text) {
  return parse_journal("/j/journal", run, text);
}

TEST(JournalTest, GivesBackWhatWasWritten) {
  const std::string text =
      begin() + dump_json(directory_event("/etc/dracut.conf.d")) + '\n' +
      dump_json(file_event(file())) + '\n' +
      dump_json(devices_file_event({"/etc/lvm/devices/system.devices", "backup-devices-file"})) +
      '\n' + dump_json(place_event(0, {5, 6})) + '\n' + dump_json(state_event("committed")) + '\n';
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error().message();
  const RunRecord& record = parsed->record;
  EXPECT_EQ(record.tool, "nvme-preflight 0.1.0");
  EXPECT_EQ(record.directories, std::vector<std::string>{"/etc/dracut.conf.d"});
  ASSERT_EQ(record.files.size(), 1u);
  EXPECT_TRUE(record.files[0].attributes.same_as(file().attributes));
  EXPECT_EQ(record.files[0].attributes.accessed.tv_sec, 1000);
  EXPECT_EQ(record.files[0].original, file().original);
  EXPECT_EQ(record.files[0].placed, (Digest{5, 6}));
  EXPECT_EQ(record.devices_file->backup, "backup-devices-file");
  EXPECT_TRUE(record.finished());
  EXPECT_EQ(parsed->sound_length, text.size());
}

TEST(JournalTest, NamesTheCopyOfWhatWasPlacedIfThereIsOne) {
  const std::string text = begin() + dump_json(file_event(file())) + '\n';
  EXPECT_EQ(parse(text + dump_json(place_event(0, {5, 6})) + '\n')->record.files[0].copy, "");
  EXPECT_EQ(
      parse(text + dump_json(place_event(0, {5, 6}, "placed-0")) + '\n')->record.files[0].copy,
      "placed-0");
  EXPECT_FALSE(parse(text + dump_json(place_event(0, {5, 6}, "../x")) + '\n'));
}

TEST(JournalTest, IsUnfinishedUntilCommittedOrUndone) {
  const auto finished = [&](const std::vector<std::string>& states) {
    std::string text = begin();
    for (const std::string& state : states) text += dump_json(state_event(state)) + '\n';
    return parse(text).value().record.finished();
  };
  EXPECT_FALSE(finished({}));
  EXPECT_TRUE(finished({"committed"}));
  EXPECT_FALSE(finished({"committed", "undoing"}));
  EXPECT_TRUE(finished({"committed", "undoing", "undone"}));
  EXPECT_TRUE(finished({"undone"}));
}

TEST(JournalTest, ATornLastLineDidNotHappen) {
  const std::string whole = begin() + dump_json(file_event(file())) + '\n';
  const std::string last = dump_json(place_event(0, {1, 2}));
  for (std::size_t length = 0; length <= last.size(); ++length) {
    const auto parsed = parse(whole + last.substr(0, length));
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->record.files[0].placed);
    EXPECT_EQ(parsed->sound_length, whole.size());
  }
  EXPECT_FALSE(parse(begin().substr(0, 20)).value().begun);
  EXPECT_FALSE(parse("").value().begun);
}

TEST(JournalTest, DamageIsNamedByLine) {
  const std::string place = dump_json(place_event(0, {1, 2})) + '\n';
  FileRecord climbing = file();
  climbing.path = "/etc/../../etc/shadow";
  FileRecord outside = file();
  outside.backup = "../../etc/shadow";
  // System calls would take these names to end early.
  FileRecord cut_path = file(), cut_backup = file(), cut_attribute = file();
  cut_path.path += std::string("\0x", 2);
  cut_backup.backup += std::string("\0x", 2);
  cut_attribute.attributes.xattrs[std::string("user.a\0x", 8)] = "1";
  for (const std::string& line :
       {std::string("x\n"), std::string("\n"), std::string("{}\n"), std::string("[[[[\n"),
        std::string("{\"event\":\"state\",\"state\":\"odd\"}\n"), begin(), place,
        dump_json(file_event(climbing)) + '\n', dump_json(file_event(outside)) + '\n',
        dump_json(file_event(cut_path)) + '\n', dump_json(file_event(cut_backup)) + '\n',
        dump_json(file_event(cut_attribute)) + '\n',
        std::string("{\"event\":\"directory\",\"path\":\"relative\"}\n"),
        std::string("{\"event\":\"file\",\"path\":\"/a\",\"existed\":true}\n"),
        std::string(5, '\0') + '\n'}) {
    const auto parsed = parse(begin() + line);
    ASSERT_FALSE(parsed) << line;
    EXPECT_EQ(parsed.error().line, 2) << line;
    EXPECT_EQ(parsed.error().path, "/j/journal");
  }
}

TEST(JournalTest, ForeignJournalsAreRefused) {
  EXPECT_FALSE(parse_journal("/j/journal", "20261130T210000Z-2", begin()));
  EXPECT_FALSE(parse("{\"event\":\"begin\",\"schema\":\"other/1\",\"run\":\"" + run + "\"}\n"));
  EXPECT_EQ(parse(dump_json(state_event("undone")) + '\n').error().line, 1);
}

TEST(JournalTest, NumbersOutOfRangeAreDamage) {
  const auto spoilt = [&](const std::string& from, const std::string& to) {
    std::string line = dump_json(file_event(file()));
    const std::size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos);
    return !parse(begin() + line.replace(at, from.size(), to) + '\n');
  };
  EXPECT_TRUE(spoilt("\"mode\":2541", "\"mode\":65535"));
  EXPECT_TRUE(spoilt("4294967294", "4294967296"));
  EXPECT_TRUE(spoilt("999999999", "1000000000"));
  EXPECT_TRUE(spoilt("1099511627776", "-1"));
  EXPECT_TRUE(spoilt("757365722eff", "75736"));
}

}  // namespace
}  // namespace preflight
