// SPDX-License-Identifier: MIT
// Command lines in the files that hold them. The first byte says which file the rest is. The editor
// changes values of root=, resume= and boot= that name the old controller, and nothing else.
#include "agent/formats/cmdline.h"

#include <algorithm>
#include <array>

#include "agent/facts/command_lines.h"
#include "agent/facts/stable_name.h"
#include "agent/formats/bls.h"
#include "agent/formats/grubenv.h"
#include "tests/fuzz/edits.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

constexpr std::array sources{CommandLineSource::entry, CommandLineSource::kernel_cmdline,
                             CommandLineSource::default_grub, CommandLineSource::grubenv};

bool is_rewritten(const CmdlineWord& word) {
  return (word.key == "root" || word.key == "resume" || word.key == "boot") && word.value &&
         why_it_changes(*word.value);
}

void check_line(std::string_view before, std::string_view after, const Facts& facts) {
  const std::vector<CmdlineWord> old_words = parse_cmdline(before);
  const std::vector<CmdlineWord> new_words = parse_cmdline(after);
  require(old_words.size() == new_words.size(), "no word comes or goes");
  for (std::size_t i = 0; i < old_words.size(); ++i) {
    const CmdlineWord& a = old_words[i];
    const CmdlineWord& b = new_words[i];
    require(a.offset + a.length <= before.size(), "words lie in the text");
    require(a.key == b.key, "keys are kept");
    if (is_rewritten(a))
      require(b.value == *stable_name(facts.storage, *a.value), "the new name is the UUID");
    else
      require(a.value == b.value &&
                  before.substr(a.offset, a.length) == after.substr(b.offset, b.length),
              "other words are kept");
  }
}

/// What lies between command lines, without the padding that a grubenv ends with.
std::string around(const std::vector<CommandLineText>& texts, std::string file, bool padded) {
  for (auto text = texts.rbegin(); text != texts.rend(); ++text)
    file.replace(text->offset, text->length, std::size_t{1}, '\x01');
  if (padded) file.resize(file.find_last_not_of('#') + 1);
  return file;
}

void check_entry(const std::string& before, const std::string& after) {
  const BlsFile a = parse_bls(before), b = parse_bls(after);
  require(a.fields.size() == b.fields.size() && a.stopped_line == b.stopped_line,
          "the entry has the same fields");
  const BlsField* options = a.find("options");
  for (std::size_t i = 0; i < a.fields.size(); ++i)
    require(a.fields[i].key == b.fields[i].key &&
                (&a.fields[i] == options || a.fields[i].value == b.fields[i].value),
            "fields but options are kept");
}

void check_grubenv(const std::string& before, const std::string& after) {
  require(before.size() == after.size(), "a block keeps its size");
  const auto a = parse_grubenv("a", before), b = parse_grubenv("b", after);
  if (!a) return;
  require(b && a->variables.size() == b->variables.size(), "the block has the same variables");
  for (const auto& [name, variable] : a->variables)
    require(name == "kernelopts" || b->value(name) == variable.value, "other variables are kept");
}

}  // namespace

void cmdline(std::string_view input) {
  if (input.empty()) return;
  const CommandLineSource source = sources[static_cast<unsigned char>(input[0]) % sources.size()];
  const std::string before(input.substr(1));
  Facts facts;
  facts.storage = two_disks();
  facts.command_lines.texts = find_command_lines(source, "/file", before);
  const std::vector<CommandLineText>& texts = facts.command_lines.texts;
  Finding finding;
  finding.check = "root.resolves";  // device names alone: rd.lvm.* is not edited for it
  finding.remedy = Remedy{"cmdline", "", {}};
  const auto after = edited_by("cmdline", facts, {finding}, before);
  if (!after || *after == before) return;

  const auto edited = find_command_lines(source, "/file", *after);
  require(edited.size() == texts.size(), "no command line comes or goes");
  for (std::size_t i = 0; i < texts.size(); ++i)
    check_line(texts[i].text(), edited[i].text(), facts);
  const bool is_grubenv = source == CommandLineSource::grubenv;
  require(around(texts, before, is_grubenv) == around(edited, *after, is_grubenv),
          "every other byte is kept");
  if (source == CommandLineSource::entry) check_entry(before, *after);
  if (is_grubenv) check_grubenv(before, *after);
}

}  // namespace preflight::fuzz
