// SPDX-License-Identifier: MIT
// fstab and crypttab readers; libmount is the oracle for fstab.
#include "agent/formats/fstab.h"

#include <gtest/gtest.h>
#include <libmount/libmount.h>
#include <mntent.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace preflight {
namespace {

TEST(FstabTest, KeepsTheSpanOfTheDeviceField) {
  const std::string text = "# c\n\n  /dev/vda2\t/boot xfs defaults 0 0\r\nUUID=a / xfs\n";
  const DeviceTable table = parse_fstab("/etc/fstab", text);
  ASSERT_EQ(table.lines.size(), 2u);
  EXPECT_EQ(table.lines[0].line, 3);
  EXPECT_EQ(text.substr(table.lines[0].offset, table.lines[0].length), "/dev/vda2");
  EXPECT_EQ(table.lines[0].name, "/boot");
  EXPECT_EQ(table.lines[1].options, "");
}

TEST(FstabTest, OptionsAreWords) {
  const DeviceTable table =
      parse_fstab("f", "/dev/vda1 /a xfs rw,nofail,x=1 0 0\n/dev/vda2 /b xfs rw,nofailx 0 0\n");
  EXPECT_TRUE(table.lines[0].is_optional());
  EXPECT_FALSE(table.lines[1].is_optional());
}

TEST(FstabTest, NamesWhatOthersSkip) {
  const DeviceTable table =
      parse_fstab("/etc/fstab", "/dev/vda1 /a\n/dev/vda2 /b xfs rw x 0\nlone\n");
  ASSERT_EQ(table.notes.size(), 3u);
  EXPECT_EQ(table.notes[1].line, 2);
  EXPECT_EQ(table.lines.size(), 2u) << "systemd mounts both";
}

TEST(FstabTest, OfOppositesTheLastCounts) {
  const DeviceTable table = parse_fstab(
      "f", "a /a xfs noauto,auto\na /b xfs nofail,rw,fail\na /c xfs fail,nofail\na /d xfs auto\n");
  EXPECT_FALSE(table.lines[0].is_optional());
  EXPECT_FALSE(table.lines[1].is_optional());
  EXPECT_TRUE(table.lines[2].is_nofail());
  EXPECT_FALSE(table.lines[3].is_noauto());
}

TEST(CrypttabTest, ReadsNameAndDevice) {
  const std::string text = "#luks /dev/vda9 none\nluks-home\t/dev/vda3 none luks,nofail\nlone\n";
  const DeviceTable table = parse_crypttab("/etc/crypttab", text);
  ASSERT_EQ(table.lines.size(), 1u);
  EXPECT_EQ(table.lines[0].name, "luks-home");
  EXPECT_EQ(text.substr(table.lines[0].offset, table.lines[0].length), "/dev/vda3");
  EXPECT_TRUE(table.lines[0].is_optional());
  EXPECT_EQ(table.notes.size(), 1u);
}

struct Row {
  std::string source, target, type, options;
  bool operator==(const Row&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << '[' << row.source << '|' << row.target << '|' << row.type << '|' << row.options
             << ']';
}

std::string or_empty(const char* text) {
  return text ? text : "";
}

std::vector<Row> by_libmount(const std::string& text) {
  const auto path =
      std::filesystem::temp_directory_path() / ("fstab-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  std::vector<Row> rows;
  libmnt_table* table = mnt_new_table();
  mnt_table_set_parser_errcb(table, [](libmnt_table*, const char*, int) { return 1; });
  EXPECT_EQ(mnt_table_parse_fstab(table, path.c_str()), 0);
  libmnt_iter* iterator = mnt_new_iter(MNT_ITER_FORWARD);
  libmnt_fs* fs = nullptr;
  while (mnt_table_next_fs(table, iterator, &fs) == 0)
    rows.push_back({or_empty(mnt_fs_get_source(fs)), or_empty(mnt_fs_get_target(fs)),
                    or_empty(mnt_fs_get_fstype(fs)), or_empty(mnt_fs_get_options(fs))});
  mnt_free_iter(iterator);
  mnt_unref_table(table);
  std::filesystem::remove(path);
  return rows;
}

/// What systemd's fstab-generator goes by.
std::vector<Row> by_getmntent(std::string text) {
  std::vector<Row> rows;
  if (text.empty()) return rows;
  std::FILE* file = ::fmemopen(text.data(), text.size(), "r");
  while (const mntent* entry = ::getmntent(file))
    rows.push_back({entry->mnt_fsname, entry->mnt_dir, entry->mnt_type, entry->mnt_opts});
  std::fclose(file);
  return rows;
}

Row row_of(const DeviceLine& line) {
  return {line.device, line.name, line.type, line.options};
}

std::vector<Row> by_us(const std::string& text) {
  std::vector<Row> rows;
  for (const DeviceLine& line : parse_fstab("fstab", text).lines) rows.push_back(row_of(line));
  return rows;
}

/// Without the lines that libmount skips, and without the "\r" that it cuts off.
std::vector<Row> by_us_for_mount(const std::string& text) {
  std::vector<Row> rows;
  const DeviceTable table = parse_fstab("fstab", text);
  for (const DeviceLine& line : table.lines) {
    if (std::any_of(table.notes.begin(), table.notes.end(),
                    [&](const Error& note) { return note.line == line.line; }))
      continue;
    Row row = row_of(line);
    for (std::string* field : {&row.type, &row.options})
      if (field->ends_with('\r')) field->pop_back();
    rows.push_back(row);
  }
  return rows;
}

/// libmount trims and completes options ("rw" first, no empty ones) when they are read back; only
/// whether they are there can be compared for odd ones.
class FstabOracleTest : public testing::TestWithParam<const char*> {};

TEST_P(FstabOracleTest, ReadsAsLibmountDoes) {
  EXPECT_EQ(by_us_for_mount(GetParam()), by_libmount(GetParam()));
}

/// glibc gives lines of one field as well, and knows the escapes of four characters alone.
TEST_P(FstabOracleTest, ReadsAsGetmntentDoes) {
  std::vector<Row> theirs = by_getmntent(GetParam());
  std::erase_if(theirs, [](const Row& row) { return row.target.empty(); });
  EXPECT_EQ(by_us(GetParam()), theirs);
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, FstabOracleTest,
    testing::Values(
        "", "\n", "# only a comment\n", "   # indented comment\n", "\t\n \n",
        "/dev/vda1 / xfs defaults 0 0\n", "/dev/vda1 / xfs defaults 0 0",
        "/dev/vda1 / xfs defaults 0\n", "/dev/vda1 / xfs defaults\n", "/dev/vda1 / xfs\n",
        "/dev/vda1 /\n", "/dev/vda1\n", "  /dev/vda1\t\t/  xfs   defaults  1   2  \n",
        "/dev/vda1 / xfs defaults 0 0 # comment\n", "/dev/vda1 / xfs defaults # comment\n",
        "/dev/vda1 / xfs # comment\n", "/dev/vda1 / xfs defaults 0 0\r\n",
        "/dev/vda1 / xfs defaults\r\n/dev/vda2 /b xfs rw\r\n",
        "UUID=0123-ABCD /boot/efi vfat umask=0077 0 2\n",
        "UUID=\"0123-ABCD\" /boot vfat defaults 0 2\n", "LABEL=root / xfs defaults 0 0\n",
        "LABEL=my\\040disk /my\\040disk xfs defaults 0 0\n",
        "PARTUUID=44444444-0003 / xfs defaults 0 0\n", "PARTLABEL=x / xfs defaults 0 0\n",
        "/dev/vda2 none swap sw 0 0\n", "/dev/vda2 swap swap defaults,pri=5 0 0\n",
        "tmpfs /tmp tmpfs size=1g,nosuid 0 0\n", "server:/export /mnt nfs rw,_netdev 0 0\n",
        "//server/share /mnt cifs credentials=/root/c 0 0\n",
        "/dev/vda1 /a\\011b xfs defaults 0 0\n", "/dev/vda1 /a\\134b xfs defaults 0 0\n",
        "/dev/vda1 /a\\04 xfs defaults 0 0\n", "/dev/vda1 /a\\999 xfs defaults 0 0\n",
        "/dev/vda1 / xfs defaults 00 01\n", "/dev/vda1 / xfs defaults -1 -1\n",
        "/dev/vda1 / xfs defaults +1 +1\n", "/dev/vda1 / xfs defaults 0x1 0\n",
        "/dev/vda1 / xfs defaults a b\n", "/dev/vda1 / xfs defaults 0 b\n",
        "/dev/vda1 / xfs defaults 0 0x\n", "/dev/vda1 / xfs defaults 1x\n",
        "/dev/vda1 / xfs defaults 0 0 0 0 0\n",
        "/dev/vda1 / xfs defaults 0 0\n/dev/vda1 / xfs defaults 0 0\n",
        "#/dev/vda1 / xfs defaults 0 0\n/dev/vda10 /b xfs defaults 0 0\n",
        "/dev/vda1 / xfs x-systemd.requires=/dev/vdb1,nofail 0 0\n",
        "/dev/disk/by-id/virtio-BHYVE-1-part1 / xfs defaults 0 0\n",
        "/dev/disk/by-path/pci-0000:00:04.0-part1 / xfs defaults 0 0\n",
        "/dev/mapper/rl-root / xfs defaults 0 0\n/dev/mapper/rl-swap none swap defaults 0 0\n",
        "caf\xc3\xa9 /caf\xe9 xfs defaults 0 0\n", "/dev/vda1 /a#b xfs defaults 0 0\n",
        "a b c d 1 2 3\n\n\n#x\n e f g\n",
        "proc /proc proc defaults 0 0\n\f/dev/vda1 / xfs rw 0 0\n"));

}  // namespace
}  // namespace preflight
