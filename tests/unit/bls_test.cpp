// SPDX-License-Identifier: MIT
#include "agent/formats/bls.h"

#include <gtest/gtest.h>

#include <map>

namespace preflight {
namespace {

std::string value(const BlsFile& file, std::string_view key) {
  const BlsField* field = file.find(key);
  return field ? field->value : "none";
}

TEST(Bls, ReadsFields) {
  const BlsFile file = parse_bls(
      "title Rocky Linux (5.14.0) 9.5\nversion 5.14.0\n# options x\n  linux   /vmlinuz-5.14.0\n"
      "initrd /a.img /b.img\ninitrd\t/c.img\noptions root=/dev/sda ro\n");
  EXPECT_EQ(value(file, "title"), "Rocky Linux (5.14.0) 9.5");
  EXPECT_EQ(value(file, "linux"), "/vmlinuz-5.14.0");
  EXPECT_EQ(file.find("linux")->line, 4);
  ASSERT_EQ(file.find_all("initrd").size(), 2u);
  EXPECT_EQ(file.find_all("initrd")[1]->value, "/c.img");
  EXPECT_EQ(file.stopped_line, 0);
}

TEST(Bls, TheFirstOptionsLineCounts) {
  EXPECT_EQ(value(parse_bls("options a\noptions b\n"), "options"), "a");
}

TEST(Bls, ALineWithoutSeparatorEndsTheFile) {
  const BlsFile file = parse_bls("title T\nlinux /k\nquiet\noptions ro\n");
  EXPECT_EQ(value(file, "options"), "none");
  EXPECT_EQ(file.stopped_line, 3);
  EXPECT_TRUE(file.text_after);
}

TEST(Bls, AnEmptyLineEndsTheFile) {
  const BlsFile file = parse_bls("linux /k\n\noptions ro\n");
  EXPECT_EQ(value(file, "options"), "none");
  EXPECT_TRUE(file.text_after);
  EXPECT_FALSE(parse_bls("linux /k\n\n  \n# the end\n").text_after);
}

TEST(Bls, AnEmptyValueEndsTheFile) {
  EXPECT_EQ(value(parse_bls("linux /k\ninitrd \noptions ro\n"), "options"), "none");
  EXPECT_EQ(value(parse_bls("linux /k\ninitrd  \noptions ro\n"), "options"), "ro");
}

TEST(Bls, ASpaceDividesBeforeATab) {
  EXPECT_EQ(value(parse_bls("options\troot=/dev/sda ro\n"), "options"), "none");
  EXPECT_EQ(value(parse_bls("linux\t/vmlinuz\n"), "linux"), "/vmlinuz");
}

TEST(Bls, CarriageReturnsAndNul) {
  EXPECT_EQ(value(parse_bls("linux /k\r\noptions ro\r\n"), "linux"), "/k");
  EXPECT_EQ(value(parse_bls(std::string("linux /k\0x\noptions ro\n", 21)), "linux"), "/k");
}

TEST(Bls, HostileText) {
  EXPECT_TRUE(parse_bls("").fields.empty());
  EXPECT_EQ(value(parse_bls("linux " + std::string(1u << 20, 'x')), "linux").size(), 1u << 20);
  EXPECT_EQ(value(parse_bls("linux /\xff\xfe\n"), "linux"), "/\xff\xfe");
  EXPECT_TRUE(parse_bls(std::string(100000, '\n')).fields.empty());
}

TEST(Bls, FileNames) {
  EXPECT_TRUE(is_bls_file_name("a.conf"));
  EXPECT_FALSE(is_bls_file_name(".conf"));
  EXPECT_FALSE(is_bls_file_name(".hidden.conf"));
  EXPECT_FALSE(is_bls_file_name("a.conf.rpmsave"));
  EXPECT_FALSE(is_bls_file_name("a"));
}

std::string expand(std::string_view text) {
  const std::map<std::string, std::string, std::less<>> variables = {
      {"kernelopts", "root=/dev/sda ro"}, {"tuned_params", "skew_tick=1"}, {"empty", ""}};
  return expand_bls_value(text,
                          [&](std::string_view name) -> std::optional<std::string> {
                            const auto found = variables.find(name);
                            if (found == variables.end()) return std::nullopt;
                            return found->second;
                          })
      .value_or("(none)");
}

TEST(Bls, ExpandsVariables) {
  EXPECT_EQ(expand("ro quiet"), "ro quiet");
  EXPECT_EQ(expand("$kernelopts"), "root=/dev/sda ro ");
  EXPECT_EQ(expand("$kernelopts $tuned_params"), "root=/dev/sda ro skew_tick=1 ");
  EXPECT_EQ(expand("$kernelopts quiet"), "root=/dev/sda ro quiet");
  EXPECT_EQ(expand("a=$kernelopts/b"), "a=root=/dev/sda ro /b");
  EXPECT_EQ(expand("ro $empty quiet"), "ro  quiet");
  EXPECT_EQ(expand("ro $unset quiet"), "ro quiet");
  EXPECT_EQ(expand("memmap=1G\\$2G ro"), "memmap=1G\\$2G ro");
}

TEST(Bls, NothingLeftIsNone) {
  EXPECT_EQ(expand("$unset"), "(none)");
  EXPECT_EQ(expand(""), "(none)");
  EXPECT_EQ(expand("x"), "(none)");  // GRUB loses a lone byte
}

TEST(Bls, VariablesOfAValue) {
  EXPECT_EQ(bls_variables("$kernelopts $tuned_params x"),
            (std::vector<std::string>{"kernelopts", "tuned_params"}));
  EXPECT_TRUE(bls_variables("root=/dev/sda ro").empty());
}

std::string command(const std::string& text) {
  return text.substr(0, grub_command_length(text));
}

TEST(Bls, GrubEndsACommand) {
  EXPECT_EQ(command("ro quiet"), "ro quiet");
  EXPECT_EQ(command("ro # modprobe.blacklist=nvme"), "ro ");
  EXPECT_EQ(command("a#b ro"), "a#b ro");
  EXPECT_EQ(command("ro; x"), "ro");
  EXPECT_EQ(command("dyndbg=\"file x; #y\" ro"), "dyndbg=\"file x; #y\" ro");
  EXPECT_EQ(command("a\\;b 'c;d'"), "a\\;b 'c;d'");
  EXPECT_EQ(command("end\\"), "end\\");
}

std::vector<std::string> sorted(const std::vector<BlsSortKey>& keys, bool el8) {
  std::vector<std::string> out;
  for (const std::size_t index : bls_menu_order(keys, el8)) out.push_back(keys[index].id);
  return out;
}

TEST(Bls, NewestFirstRescueLast) {
  const std::vector<BlsSortKey> keys = {{"m-0-rescue", "0-rescue-m"},
                                        {"m-5.14.0-503.el9.x86_64", "5.14.0-503.el9.x86_64"},
                                        {"m-5.14.0-70.el9.x86_64", "5.14.0-70.el9.x86_64"}};
  EXPECT_EQ(sorted(keys, false),
            (std::vector<std::string>{"m-5.14.0-503.el9.x86_64", "m-5.14.0-70.el9.x86_64",
                                      "m-0-rescue"}));
  EXPECT_EQ(sorted(keys, true), sorted(keys, false));
}

TEST(Bls, MachineIdBeforeVersionFromEl9On) {
  const std::vector<BlsSortKey> keys = {{"aaaa-5.14.0-503.el9.x86_64", "5.14.0-503.el9.x86_64"},
                                        {"ffff-5.14.0-70.el9.x86_64", "5.14.0-70.el9.x86_64"}};
  EXPECT_EQ(sorted(keys, false)[0], "ffff-5.14.0-70.el9.x86_64");
  EXPECT_EQ(sorted(keys, true)[0], "aaaa-5.14.0-503.el9.x86_64");
}

TEST(Bls, El8NeedsTheVersionOfEveryEntry) {
  const std::vector<BlsSortKey> keys = {{"aaaa-4.18.0-553.el8.x86_64", "4.18.0-553.el8.x86_64"},
                                        {"ffff-4.18.0-80.el8.x86_64", std::nullopt}};
  EXPECT_EQ(sorted(keys, true)[0], "ffff-4.18.0-80.el8.x86_64");
}

TEST(Bls, EntriesThatCannotBeToldApart) {
  EXPECT_TRUE(bls_same_place({"m-5.14.0-1", ""}, {"m-5.14.0-01", ""}, false));
  EXPECT_FALSE(bls_same_place({"m-5.14.0-1", ""}, {"m-5.14.0-2", ""}, false));
}

TEST(GrubCommandLine, WordsLoseTheirQuotesAndBackslashes) {
  const auto line = [](const char* options) { return grub_command_line(options); };
  EXPECT_EQ(line("root=UUID=1  ro"), "root=UUID=1  ro");
  EXPECT_EQ(line("'modprobe.blacklist=nvme' ro"), "modprobe.blacklist=nvme ro");
  EXPECT_EQ(line("resume='/dev/vda4'"), "resume=/dev/vda4");
  EXPECT_EQ(line("\"modprobe.blacklist\"=nvme"), "modprobe.blacklist=nvme");
  EXPECT_EQ(line("modprobe.blacklist=nv\\me"), "modprobe.blacklist=nvme");
  EXPECT_EQ(line("dyndbg=\"file x +p\" ro"), "\"dyndbg=file x +p\" ro");
  EXPECT_EQ(line("a=\"b\\c\\\"\" '\\'"), "a=b\\\\c\\\" \\\\");
  EXPECT_EQ(line("'' x"), "x");
  EXPECT_EQ(line("'open"), "open");
}

}  // namespace
}  // namespace preflight
