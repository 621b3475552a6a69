// SPDX-License-Identifier: MIT
#include "agent/formats/grub_config.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

std::string assignments(const std::string& text) {
  std::string out;
  for (const GrubAssignment& one : parse_grub_config("/g", text).assignments)
    out += std::to_string(one.line) + ":" + one.name + "=" + one.value +
           (one.condition.empty() ? "" : " if " + one.condition) + "\n";
  return out;
}

TEST(GrubConfig, AssignmentsAndTheirConditions) {
  EXPECT_EQ(assignments("set a=1\nb=\"two words\" # c=3\n"), "1:a=1\n2:b=two words\n");
  EXPECT_EQ(assignments("if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\nelse\n"
                        "   set default=\"${saved_entry}\"\nfi\nset x=1\n"),
            "2:default=${next_entry} if [ ${next_entry} ]\n"
            "4:default=${saved_entry} if not [ ${next_entry} ]\n6:x=1\n");
  EXPECT_EQ(
      assignments(
          "if [ -z \"${kernelopts}\" ]; then set kernelopts=\"root=/dev/sda ro \"; fi\nset z=1"),
      "1:kernelopts=root=/dev/sda ro  if [ -z ${kernelopts} ]\n2:z=1\n");
  EXPECT_EQ(assignments("if a; then\nif b; then\nset x=1\nelif c; then\nset x=2\nfi\nfi\n"),
            "3:x=1 if a and b\n5:x=2 if a and c\n");
}

TEST(GrubConfig, FunctionsAndEntriesAreNotRun) {
  EXPECT_EQ(assignments("function savedefault {\n  if [ -z \"${boot_once}\" ]; then\n"
                        "    saved_entry=\"${chosen}\"\n  fi\n}\nset y=1\n"),
            "6:y=1\n");
  EXPECT_EQ(assignments("menuentry 'x' {\n set root='hd0'\n}\n"), "");
  EXPECT_EQ(assignments("'set default=1'\n# set default=2\n"), "");
}

TEST(GrubConfig, MenuEntries) {
  const GrubConfig config =
      parse_grub_config("/g",
                        "menuentry 'Memtest' { linux16 /memtest }\nblscfg\nif [ \"$grub_platform\" "
                        "= \"efi\" ]; then\n"
                        "\tmenuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' "
                        "{\n\t\tfwsetup\n\t}\nfi\n"
                        "submenu 'Old' --id=old {\n menuentry 'inner' {\n }\n}\n");
  ASSERT_EQ(config.menu_entries.size(), 3u);
  EXPECT_EQ(config.menu_entries[0].id, "Memtest");
  EXPECT_TRUE(config.menu_entries[0].before_blscfg);
  EXPECT_EQ(config.menu_entries[1].id, "uefi-firmware");
  EXPECT_TRUE(config.menu_entries[1].conditional);
  EXPECT_FALSE(config.menu_entries[1].before_blscfg);
  EXPECT_EQ(config.menu_entries[2].id, "old");
  EXPECT_EQ(config.blscfg_line, 2);
  EXPECT_FALSE(config.incomplete);
}

TEST(GrubConfig, AStubHandsOver) {
  const GrubConfig stub = parse_grub_config(
      "/g",
      "search --no-floppy --root-dev-only --fs-uuid --set=dev 1234\nset prefix=($dev)/grub2\n"
      "export $prefix\nconfigfile $prefix/grub.cfg\n");
  EXPECT_TRUE(stub.is_stub());
  EXPECT_FALSE(parse_grub_config("/g", "insmod blscfg\nblscfg\n").is_stub());
  EXPECT_EQ(parse_grub_config("/g", "# blscfg\necho 'blscfg'\n").blscfg_line, 0);
}

TEST(GrubConfig, HostileText) {
  EXPECT_TRUE(parse_grub_config("/g", "set a=\"open\n").incomplete);
  EXPECT_TRUE(parse_grub_config("/g", "menuentry 'x' {\n").incomplete);
  EXPECT_FALSE(parse_grub_config("/g", "}}}} fi fi else ;;;|| ${ \\").incomplete);
  EXPECT_FALSE(parse_grub_config("/g", "").incomplete);
  parse_grub_config("/g", std::string(1u << 20, '{'));
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "a=1\n";
  EXPECT_TRUE(parse_grub_config("/g", many).incomplete);
  EXPECT_EQ(parse_grub_config("/g", many).assignments.size(), 4096u);
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "if x; then\n";
  EXPECT_TRUE(parse_grub_config("/g", deep).incomplete);
  parse_grub_config("/g", std::string(1000, '\0') + "\\\r\xff$");
}

}  // namespace
}  // namespace preflight
