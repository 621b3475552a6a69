// SPDX-License-Identifier: MIT
#include "agent/formats/devices_file.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

std::vector<DevicesEntry> entries_of(std::string_view text) {
  return parse_devices_file("/etc/lvm/devices/system.devices", text).entries;
}

TEST(DevicesFileTest, ReadsWhatLvmWrites) {
  const auto entries = entries_of(
      "# LVM uses devices listed in this file.\n"
      "# Created by LVM command pvcreate pid 4711 at Mon Apr  1 12:00:00 2024\n"
      "# HASH=3237563218\n"
      "PRODUCT_UUID=4c4c4544-0000-2010-8020-80c04f202020\n"
      "VERSION=1.1.2\n"
      "IDTYPE=sys_serial IDNAME=BHYVE-1234-5678-9ABC DEVNAME=/dev/vda3 "
      "PVID=abcdefghijklmnopqrstuvwxyzABCDEF PART=3\n"
      "IDTYPE=devname IDNAME=. DEVNAME=/dev/vdb PVID=.\n");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].line, 6);
  EXPECT_EQ(entries[0].idtype, "sys_serial");
  EXPECT_EQ(entries[0].idname, "BHYVE-1234-5678-9ABC");
  EXPECT_EQ(entries[0].devname, "/dev/vda3");
  EXPECT_EQ(entries[0].pvid, "abcdefghijklmnopqrstuvwxyzABCDEF");
  EXPECT_EQ(entries[0].part, 3);
  EXPECT_EQ(entries[1].idname, "");
  EXPECT_EQ(entries[1].pvid, "");
  EXPECT_EQ(entries[1].part, 0);
}

TEST(DevicesFileTest, HeadersAndCommentsAreNoEntries) {
  EXPECT_TRUE(entries_of("").empty());
  EXPECT_TRUE(entries_of("\n\nVERSION=1.1.1\nSYSTEMID=x\nHOSTNAME=h IDTYPE=a IDNAME=b\n").empty());
  EXPECT_TRUE(entries_of("#IDTYPE=devname IDNAME=/dev/vda\n").empty());
  EXPECT_TRUE(entries_of("IDTYPE=devname DEVNAME=/dev/vda\n").empty());
}

TEST(DevicesFileTest, FieldsAreFoundWhereLvmFindsThem) {
  const auto entries = entries_of("  junk IDNAME= /dev/vda2 IDTYPE=devname PVID");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].idname, "/dev/vda2");
  EXPECT_EQ(entries[0].idtype, "devname");
  EXPECT_EQ(entries[0].pvid, "");
}

TEST(DevicesFileTest, PvidIsCutToItsLength) {
  const auto entries =
      entries_of("IDTYPE=devname IDNAME=x PVID=abcdefghijklmnopqrstuvwxyzABCDEF\r\n");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].pvid, "abcdefghijklmnopqrstuvwxyzABCDEF");
}

TEST(DevicesFileTest, HostileTextIsBounded) {
  using namespace std::string_literals;
  EXPECT_TRUE(entries_of("IDTYPE=a\0IDNAME=b\n"s).empty());
  const std::string filler(5000, 'x');
  EXPECT_TRUE(entries_of("IDTYPE=a " + filler + " IDNAME=b\n").empty());
  EXPECT_EQ(entries_of(filler + "IDTYPE=a IDNAME=b\n").size(), 1u);
  const auto entries = entries_of("IDTYPE=a IDNAME=b PART=99999999999999999999\n");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].part, 0);
  std::string many;
  for (int i = 0; i < 50000; ++i) many += "IDTYPE=a IDNAME=b\n";
  EXPECT_EQ(entries_of(many).size(), 50000u);
}

TEST(DevicesFileTest, NamesAreAsLvmAllowsThem) {
  EXPECT_TRUE(is_devices_file_name("system.devices"));
  EXPECT_TRUE(is_devices_file_name("a-b_c+1"));
  for (const char* name : {"", ".", "..", "-x", "a/b", "../x", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_devices_file_name(name)) << name;
  EXPECT_TRUE(is_devices_file_name(std::string(127, 'x')));
  EXPECT_FALSE(is_devices_file_name(std::string(128, 'x')));
}

}  // namespace
}  // namespace preflight
